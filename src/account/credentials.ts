/** Decodes the content of a Secret into credentials. No message contains a value from the Secret. */

import { createHash } from 'node:crypto';
import { renderExplanation } from '../api/finding.ts';
import { failure, type LogfleetError } from '../base/errors.ts';
import type { SecretText } from '../base/secret-text.ts';
import type { ServiceAddress } from '../service/requests/service-address.ts';
import { type CredentialPlace, nameOf, renderAbsent, renderMissingKeys } from './credential-place.ts';
import { type CredentialMember, memberRules, type Rule, requiredMembers } from './credential-rules.ts';

export interface Credentials {
  readonly address: ServiceAddress;
  readonly accessId: string;
  readonly accessKey: SecretText;
  readonly caCertificates: string | undefined;
  readonly allowedHosts: readonly string[];
  /** User of the service. Defaults to the access ID. The service applies its rate limit per user. */
  readonly user: string;
  readonly requestsPerSecond: number | undefined;
  readonly maxConcurrentRequests: number | undefined;
}

export type SecretReason = 'SecretNotFound' | 'SecretIncomplete' | 'SecretInvalid' | 'AddressInvalid';

function secretError(reason: SecretReason, message: string): LogfleetError {
  return failure('stall', 'secret.unusable', message, { reason });
}

type SecretTexts = ReadonlyMap<string, SecretText>;

/** Returns a key's value without surrounding whitespace, because values from files often end in a newline. */
function textOf(members: SecretTexts, name: CredentialMember): string | undefined {
  return members.get(name)?.reveal().trim() || undefined;
}

/** Decodes the credentials in a Secret. Throws a `LogfleetError` whose reason identifies the problem. */
export function decodeCredentials(place: CredentialPlace, members: SecretTexts | undefined): Credentials {
  if (!members) throw secretError('SecretNotFound', renderAbsent(place));
  const missing = requiredMembers.filter((name) => textOf(members, name) === undefined);
  if (missing.length > 0) throw secretError('SecretIncomplete', renderMissingKeys(place, missing));
  const read = <T>(name: CredentialMember, rule: Rule<T>): T | undefined => {
    const text = textOf(members, name);
    if (text === undefined) return undefined;
    const parsed = rule(text);
    if (parsed.kind === 'value') return parsed.value;
    const reason = name === 'baseURL' ? 'AddressInvalid' : 'SecretInvalid';
    throw secretError(reason, `${nameOf(place, name)} ${renderExplanation(parsed)}`);
  };
  const address = read('baseURL', memberRules.baseURL) as ServiceAddress;
  const accessId = read('accessId', memberRules.accessId) as string;
  return {
    address,
    accessId,
    accessKey: read('accessKey', memberRules.accessKey) as SecretText,
    caCertificates: read('ca.crt', memberRules['ca.crt']),
    allowedHosts: read('allowedHosts', memberRules.allowedHosts) ?? [],
    user: read('user', memberRules.user) ?? accessId,
    requestsPerSecond: read('requestsPerSecond', memberRules.requestsPerSecond),
    maxConcurrentRequests: read('maxConcurrentRequests', memberRules.maxConcurrentRequests),
  };
}

/** Digest of credentials that does not reveal the access key. */
export function credentialsFingerprint(credentials: Credentials): string {
  const content = { ...credentials, accessKey: credentials.accessKey.reveal() };
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
