/**
 * The members of a Secret, decoded: what logfleet needs to speak to one service as one access id. Each thing that can be wrong
 * with a Secret has a reason of its own, and a message that says which member to mend and how. No value of a Secret is ever repeated.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { LogfleetError } from '../base/errors.ts';
import { SecretText } from '../base/secret-text.ts';
import type { ResourceKey } from '../host/host.ts';
import { parseAllowedHosts } from '../service/redirect.ts';
import { parseServiceAddress, type ServiceAddress } from '../service/service-address.ts';

export interface Credentials {
  readonly address: ServiceAddress;
  readonly accessId: string;
  readonly accessKey: SecretText;
  readonly caCertificates: string | undefined;
  readonly allowedHosts: readonly string[];
  /** Whose rate the access id spends; the access id itself, where the Secret names no user. */
  readonly user: string;
  readonly requestsPerSecond: number | undefined;
  readonly maxConcurrentRequests: number | undefined;
}

export type SecretReason = 'SecretNotFound' | 'SecretIncomplete' | 'SecretInvalid' | 'AddressInvalid';

const codes: { readonly [R in SecretReason]: string } = {
  SecretNotFound: 'secret.notFound',
  SecretIncomplete: 'secret.incomplete',
  SecretInvalid: 'secret.invalid',
  AddressInvalid: 'secret.addressInvalid',
};

export function secretError(key: ResourceKey, reason: SecretReason, what: string): LogfleetError {
  const message = `Secret ${key.namespace}/${key.name} ${what}`;
  return new LogfleetError({ code: codes[reason], reason, message, handling: { kind: 'stall' } });
}

type Members = ReadonlyMap<string, SecretText>;

const requiredMembers = ['baseURL', 'accessId', 'accessKey'] as const;

/** White space at the ends is never meant: files end in a newline, and so do Secrets made from them. */
function textOf(members: Members, name: string): string | undefined {
  return members.get(name)?.reveal().trim() || undefined;
}

/** Throws with one of the reasons above; `SecretIncomplete` names every member that is missing. */
export function decodeCredentials(key: ResourceKey, members: Members | undefined): Credentials {
  if (!members) {
    throw secretError(key, 'SecretNotFound', `does not exist: create it with ${listOf(requiredMembers)}`);
  }
  const missing = requiredMembers.filter((name) => textOf(members, name) === undefined);
  if (missing.length > 0) throw secretError(key, 'SecretIncomplete', `lacks ${listOf(missing)}: add what is missing`);
  const accessId = accessIdOf(key, members);
  return {
    address: addressOf(key, members),
    accessId,
    accessKey: accessKeyOf(key, members),
    caCertificates: caCertificatesOf(key, members),
    allowedHosts: allowedHostsOf(key, members),
    user: textOf(members, 'user') ?? accessId,
    requestsPerSecond: numberOf(key, members, 'requestsPerSecond', 'a number above 0, like 2 or 0.5', (n) => n > 0),
    maxConcurrentRequests: numberOf(
      key,
      members,
      'maxConcurrentRequests',
      'a whole number from 1 to 10',
      (n) => Number.isInteger(n) && n >= 1,
    ),
  };
}

function listOf(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

function addressOf(key: ResourceKey, members: Members): ServiceAddress {
  const parsed = parseServiceAddress(textOf(members, 'baseURL') ?? '');
  if (parsed.kind === 'problem') throw secretError(key, 'AddressInvalid', `has a baseURL that ${parsed.problem}`);
  return parsed.address;
}

/** What basic credentials can carry: anything without a line's end, and no colon in the first of the two (RFC 7617). */
function accessIdOf(key: ResourceKey, members: Members): string {
  const accessId = textOf(members, 'accessId') ?? '';
  if (/[:\p{Cc}]/u.test(accessId)) {
    throw secretError(
      key,
      'SecretInvalid',
      'has an accessId with a colon or a control character: write the access id alone',
    );
  }
  return accessId;
}

function accessKeyOf(key: ResourceKey, members: Members): SecretText {
  const text = textOf(members, 'accessKey') ?? '';
  if (/\p{Cc}/u.test(text)) {
    throw secretError(key, 'SecretInvalid', 'has an accessKey of more than one line: write the access key alone');
  }
  return new SecretText(text);
}

const certificateForm = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function caCertificatesOf(key: ResourceKey, members: Members): string | undefined {
  const pem = textOf(members, 'ca.crt');
  if (pem === undefined) return undefined;
  const certificates = pem.match(certificateForm) ?? [];
  if (certificates.length === 0 || !certificates.every(isCertificate)) {
    throw secretError(
      key,
      'SecretInvalid',
      'has a ca.crt that is no certificate: write PEM, beginning with -----BEGIN CERTIFICATE-----',
    );
  }
  return certificates.join('\n');
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}

function allowedHostsOf(key: ResourceKey, members: Members): readonly string[] {
  const hosts = parseAllowedHosts(textOf(members, 'allowedHosts') ?? '');
  return hosts.map((host) => {
    if (host !== undefined) return host;
    throw secretError(
      key,
      'SecretInvalid',
      'has an entry in allowedHosts that is no host: write hosts like api.example.com or api.example.com:8443, separated by commas',
    );
  });
}

function numberOf(
  key: ResourceKey,
  members: Members,
  name: string,
  expected: string,
  accepts: (value: number) => boolean,
): number | undefined {
  const text = textOf(members, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && accepts(value)) return value;
  throw secretError(key, 'SecretInvalid', `has a ${name} that is not ${expected}: mend it or leave it out`);
}

/** Equal for Secrets that say the same; says nothing about the key to who sees it. */
export function fingerprintOf(credentials: Credentials): string {
  const { address, accessId, accessKey, caCertificates, allowedHosts, user } = credentials;
  const { requestsPerSecond, maxConcurrentRequests } = credentials;
  const content = [
    address,
    accessId,
    accessKey.reveal(),
    caCertificates,
    allowedHosts,
    user,
    requestsPerSecond,
    maxConcurrentRequests,
  ];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
