/**
 * Reads a Secret manifest as an API server does, and checks its values. `stringData` overrides `data`.
 *
 * No error or warning contains a secret value.
 */
import { isRecord, type JsonObject } from '../base/record.ts';
import { suggestion } from './did-you-mean.ts';
import { error, type Finding, type FindingReason, warning } from './finding.ts';
import type { JsonPath } from './json-path.ts';

export interface SecretMember {
  readonly path: JsonPath;
  /** Decoded value. Undefined if it cannot be decoded. */
  readonly text: string | undefined;
}

export interface SecretMembers {
  readonly members: ReadonlyMap<string, SecretMember>;
  /** Errors about invalid values of the Secret. */
  readonly findings: readonly Finding[];
}

export function readSecretMembers(secret: JsonObject): SecretMembers {
  const members = new Map<string, SecretMember>();
  const findings: Finding[] = [];
  const refuse = (path: JsonPath, reason: FindingReason, problem: string, remedy: string) => {
    findings.push(error(path, reason, { problem, remedy }));
    return undefined;
  };
  for (const section of ['data', 'stringData'] as const) {
    const values = secret[section];
    if (values === undefined || values === null) continue;
    if (!isRecord(values)) {
      refuse([section], 'WrongType', 'must be a mapping', 'use a mapping of names to strings');
      continue;
    }
    for (const [name, value] of Object.entries(values)) {
      const path = [section, name];
      members.set(name, { path, text: textOf(section, value, (...explanation) => refuse(path, ...explanation)) });
    }
  }
  return { members, findings };
}

function textOf(
  section: 'data' | 'stringData',
  value: unknown,
  refuse: (reason: FindingReason, problem: string, remedy: string) => undefined,
): string | undefined {
  if (typeof value !== 'string') return refuse('WrongType', 'must be a string', 'put it in quotes');
  if (section === 'stringData') return value;
  return decodeBase64(value) ?? refuse('Invalid', 'is not base64', 'put the plain text under stringData instead');
}

function decodeBase64(text: string): string | undefined {
  const bare = text.replaceAll(/\s/g, '');
  if (bare.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(bare)) return undefined;
  return Buffer.from(bare, 'base64').toString('utf8');
}

export interface SecretRules {
  /** Required keys of the Secret, each with the remedy to show if the key is missing. */
  readonly required: Readonly<Record<string, string>>;
  /** All allowed keys. */
  readonly known: readonly string[];
  /** Checks a non-empty value of the Secret. */
  readonly check?: (name: string, text: string, path: JsonPath) => Iterable<Finding>;
}

/** Returns errors and warnings about missing, unknown, empty and invalid values of a Secret. */
export function checkSecret(
  secret: JsonObject,
  { required, known, check = () => [] }: SecretRules,
): readonly Finding[] {
  const { members, findings: unreadable } = readSecretMembers(secret);
  const findings = [...unreadable];
  const section = 'stringData' in secret ? 'stringData' : 'data';
  for (const [name, remedy] of Object.entries(required)) {
    if (!members.has(name)) findings.push(error([section, name], 'Required', { problem: 'is missing', remedy }));
  }
  for (const [name, { path, text }] of members) {
    if (!known.includes(name)) findings.push(unknownMember(name, known, path));
    else if (text?.trim()) findings.push(...check(name, text.trim(), path));
    // The value of an optional key may be empty.
    else if (text !== undefined && Object.hasOwn(required, name))
      findings.push(error(path, 'Required', { problem: 'is empty', remedy: 'set its value' }));
  }
  return findings;
}

function unknownMember(name: string, known: readonly string[], path: JsonPath): Finding {
  const remedy = suggestion(name, known, `the known keys are ${known.join(', ')}`);
  return warning(path, 'Unknown', { problem: 'logfleet has no such key', remedy, subject: 'key' });
}

/** Required keys of a Secret for an S3 store. */
export const requiredStoreMembers = ['accessKeyId', 'secretAccessKey'] as const;
/** Key for the session token of temporary credentials. */
export const sessionTokenMember = 'sessionToken';

/** Keys of a Secret for Azure Blob Storage: `accountName` and `accountKey`, or `sasToken`, or `connectionString`. */
export const azureMembers = {
  name: 'accountName',
  key: 'accountKey',
  sasToken: 'sasToken',
  connectionString: 'connectionString',
} as const;

/**
 * Optional key of a Secret for Azure Blob Storage or Google Cloud Storage. The value is an address outside the cloud
 * provider's domains that may get the credentials.
 */
export const endpointMember = 'endpoint';

/** Required key of a Secret for Google Cloud Storage. The value is the content of a service account's JSON key file. */
export const serviceAccountMember = 'serviceAccountKey';

/** Functions that check the keys and values of a Secret, by the name of the store in `spec.destination`. */
export const storeSecretChecks = {
  s3(secret: JsonObject): readonly Finding[] {
    const remedy = 'add the missing key under stringData, and copy its value from the object store';
    const required = Object.fromEntries(requiredStoreMembers.map((name) => [name, remedy]));
    return checkSecret(secret, { required, known: [...requiredStoreMembers, sessionTokenMember] });
  },
  azureBlob(secret: JsonObject): readonly Finding[] {
    const { name, key, sasToken, connectionString } = azureMembers;
    const { members } = readSecretMembers(secret);
    const needsKey = !members.has(sasToken) && !members.has(connectionString);
    const remedy = `add the missing key under stringData, or use ${sasToken} or ${connectionString} in place of ${name} and ${key}`;
    const required = needsKey ? { [name]: remedy, [key]: remedy } : {};
    return checkSecret(secret, { required, known: [...Object.values(azureMembers), endpointMember] });
  },
  gcs(secret: JsonObject): readonly Finding[] {
    const remedy =
      "add the missing key under stringData, with the content of a service account's JSON key file as its value";
    return checkSecret(secret, {
      required: { [serviceAccountMember]: remedy },
      known: [serviceAccountMember, endpointMember],
    });
  },
} as const;
