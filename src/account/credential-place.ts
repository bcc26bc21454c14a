/** Source of credentials: a Secret, or environment variables that replace the Secret. */
import { keyText } from '../base/key-text.ts';
import { listText } from '../base/list-text.ts';
import { wordFor } from '../base/number-text.ts';
import type { ResourceKey } from '../host/host.ts';
import { type SettingNames, secretSettingNames } from '../service/requests/service-failure.ts';
import { type CredentialMember, requiredMembers } from './credential-rules.ts';

export interface CredentialPlace {
  readonly kind: 'secret' | 'variables';
  /** Secret with the credentials. Environment variables may replace this Secret. */
  readonly key: ResourceKey;
}

/**
 * Environment variables that replace keys of the Secret. `LOGFLEET_CA_FILE` contains the name of a certificate file.
 */
export const variables = {
  baseURL: 'LOGFLEET_BASE_URL',
  accessId: 'LOGFLEET_ACCESS_ID',
  accessKey: 'LOGFLEET_ACCESS_KEY',
  'ca.crt': 'LOGFLEET_CA_FILE',
} as const satisfies { readonly [M in CredentialMember]?: string };

const variableNames: SettingNames = {
  address: variables.baseURL,
  credentials: `${variables.accessId} and ${variables.accessKey}`,
  trustAuthority: `write the service's CA certificate (PEM) to a file, and set ${variables['ca.crt']} to the name of the file`,
  followRedirect: `set ${variables.baseURL} to the new address`,
  shareRate:
    'give the operator a user of its own, or move the credentials from the LOGFLEET_ variables to a Secret that also sets requestsPerSecond',
};

/** Returns the names that messages use for the connection settings: keys of a Secret, or environment variables. */
export function settingNamesOf({ kind }: CredentialPlace): SettingNames {
  return kind === 'secret' ? secretSettingNames : variableNames;
}

/** Returns the name that messages use for one of the credential settings. */
export function nameOf({ kind, key }: CredentialPlace, member: CredentialMember): string {
  if (kind === 'secret') return `${secretOf(key)}: ${member}`;
  if (member === 'ca.crt') return `The file that ${variables[member]} names`;
  return Object.hasOwn(variables, member) ? variables[member as keyof typeof variables] : member;
}

/** Short name of the source of credentials, for logs. */
export function renderPlace({ kind, key }: CredentialPlace): string {
  return kind === 'secret' ? keyText(key) : 'environment';
}

export function renderAbsent({ kind, key }: CredentialPlace): string {
  const requiredKeys = listText(requiredMembers);
  if (kind === 'secret') return `${secretOf(key)} does not exist: create it with the keys ${requiredKeys}`;
  return `There are no credentials: set ${listText(requiredVariables)}, or create ${secretOf(key)} with the keys ${requiredKeys}`;
}

export function renderMissingKeys({ kind, key }: CredentialPlace, missing: readonly Required[]): string {
  if (kind === 'secret') return `${secretOf(key)} lacks ${listText(missing)}: add the missing keys to the Secret`;
  const names = listText(missing.map((member) => variables[member]));
  return `${names} ${wordFor(missing.length, 'is', 'are')} not set, but other variables for the credentials are: set all of ${listText(requiredVariables)}`;
}

/** Returns the message for credentials that the service rejected with 401. */
export function renderRefused({ kind, key }: CredentialPlace, serviceId: string): string {
  const refusal = `${serviceId} rejects the credentials`;
  if (kind === 'secret') return `${refusal} of ${secretOf(key)} (401): check accessId and accessKey in the Secret`;
  return `${refusal} (401): check ${variableNames.credentials}`;
}

type Required = (typeof requiredMembers)[number];

const requiredVariables = requiredMembers.map((member) => variables[member]);

function secretOf(key: ResourceKey): string {
  return `Secret ${keyText(key)}`;
}
