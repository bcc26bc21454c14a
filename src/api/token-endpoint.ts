/**
 * Decides which endpoints of object stores get access tokens. The endpoint comes from the export's spec, and a server
 * that receives a token can use the token. Without this check, anyone who can create exports could send the token of a
 * Secret to their own server.
 *
 * Access keys of Amazon S3 and account keys of Azure need no check. logfleet only signs requests with these keys, and
 * never sends the keys.
 */
import { connectionEntries } from '../base/connection-string.ts';
import { withoutTrailingSlashes } from '../base/trailing-slashes.ts';
import type { Explanation } from './finding.ts';
import { azureMembers, endpointMember } from './secret-manifest.ts';

/**
 * Domains of the cloud providers' stores. Endpoints in these domains may get tokens, because only the providers run
 * servers in these domains.
 */
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
 * Explains why an export's credentials must not be sent to the endpoint of the export's store. Returns undefined if the
 * endpoint may get the credentials. If `secret` is undefined, the export uses the token of an identity, not a Secret.
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
  const reason = `because it is not an https address of the cloud provider (${ownDomains[store].map((domain) => `https://*.${domain}`).join(', ')})`;
  const addition = `add the key ${endpointMember} with the value ${endpoint} to the Secret`;
  if (secret) {
    return {
      problem: `${endpoint} must not receive the credentials in the Secret, ${reason}, and the Secret does not contain this endpoint`,
      remedy: `use an address of the cloud provider, or ${addition}`,
    };
  }
  return {
    problem: `${endpoint} must not receive the token of an identity, ${reason}`,
    remedy: `use an address of the cloud provider, or set credentialsSecretRef and ${addition}`,
  };
}

function isOwn({ protocol, hostname }: URL, store: TokenStore): boolean {
  return protocol === 'https:' && ownDomains[store].some((domain) => hostname.endsWith(`.${domain}`));
}

/** Reports whether the credentials in a Secret only sign requests, and are never sent themselves. */
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
