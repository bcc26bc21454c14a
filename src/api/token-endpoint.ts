/**
 * Decides to which endpoints of object stores logfleet sends access tokens. A server that receives a token can use it,
 * and the endpoint comes from the export's spec. Without this rule, anyone who can create exports could send a token
 * from a Secret to a server of his own.
 *
 * Access keys of Amazon S3 and of Azure storage accounts are not sent, because they only sign requests.
 */
import { connectionEntries } from '../base/connection-string.ts';
import { withoutTrailingSlashes } from '../base/trailing-slashes.ts';
import type { Explanation } from './finding.ts';
import { azureMembers, endpointMember } from './secret-manifest.ts';

/** Domains of the stores that get access tokens. Customers of the cloud run no servers in these domains. */
const ownDomains = {
  azureBlob: [
    'blob.core.windows.net',
    'blob.storage.azure.net',
    'blob.core.usgovcloudapi.net',
    'blob.core.chinacloudapi.cn',
  ],
  gcs: ['googleapis.com'],
} as const;

type TokenStore = keyof typeof ownDomains;

/** Returns the value of a key in a Secret, or undefined if the key is missing or its value is empty. */
type SecretTexts = (member: string) => string | undefined;

/**
 * Returns why logfleet does not send an export's credentials to its endpoint, and what to do. Returns
 * undefined if the endpoint may get the credentials. Without `secret`, the credentials are the token of an identity.
 */
export function tokenEndpointProblem(
  store: TokenStore | 's3',
  endpoint: string | undefined,
  secret?: SecretTexts,
): Explanation | undefined {
  const url = endpoint === undefined ? null : URL.parse(endpoint);
  if (store === 's3' || !url || isOwn(url, store) || (secret && (isSigning(store, secret) || names(secret, url)))) {
    return undefined;
  }
  const reason = `because it is not an address of the cloud (${ownDomains[store].map((domain) => `https://*.${domain}`).join(', ')})`;
  const addition = `add the key ${endpointMember} with the value ${endpoint} to the Secret`;
  if (secret) {
    return {
      problem: `${endpoint} must not get the credentials in the Secret, ${reason}, and the Secret does not name it`,
      remedy: `use an address of the cloud, or ${addition}`,
    };
  }
  return {
    problem: `${endpoint} must not get the token of an identity, ${reason}`,
    remedy: `use an address of the cloud, or set credentialsSecretRef and ${addition}`,
  };
}

function isOwn({ protocol, hostname }: URL, store: TokenStore): boolean {
  return protocol === 'https:' && ownDomains[store].some((domain) => hostname.endsWith(`.${domain}`));
}

/** Reports whether the credentials in a Secret only sign requests. */
function isSigning(store: TokenStore, secret: SecretTexts): boolean {
  if (store === 'gcs') return false;
  const connection = secret(azureMembers.connectionString);
  if (connection === undefined) return secret(azureMembers.sasToken) === undefined;
  const { AccountName, AccountKey } = connectionEntries(connection);
  return Boolean(AccountName && AccountKey);
}

function names(secret: SecretTexts, url: URL): boolean {
  const { BlobEndpoint } = connectionEntries(secret(azureMembers.connectionString) ?? '');
  return [secret(endpointMember), BlobEndpoint].some((text) => text && plain(URL.parse(text)) === plain(url));
}

function plain(url: URL | null): string | undefined {
  return url ? withoutTrailingSlashes(url.href) : undefined;
}
