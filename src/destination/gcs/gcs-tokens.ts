/** Authorization of requests to Google Cloud Storage by Google's library. */
import { createPrivateKey } from 'node:crypto';
import { GoogleAuth, JWT } from 'google-auth-library';
import { destinationError } from '../destination-error.ts';
import { checkTokensMayGoTo } from '../store-endpoint.ts';
import { defaultEndpoint, type GcsCredentials, type GcsSettings } from './gcs-settings.ts';

/** OAuth scope of the access tokens, which allows reading, writing and removing objects. */
const scope = 'https://www.googleapis.com/auth/devstorage.read_write';
/**
 * Audience of the access tokens, that is, the service for which they are issued. Private endpoints of Google Cloud Storage accept these
 * tokens too.
 */
const audience = `${defaultEndpoint}/`;

/** Returns HTTP headers with a valid access token, which Google's library renews. */
export type AuthorizationHeaders = () => Promise<Headers>;

/** Prepares the authorization without sending a request. Throws `destination.invalid` or `destination.credentials`. */
export function authorizationOf({ credentials }: GcsSettings, endpoint: string): AuthorizationHeaders {
  if (credentials !== 'ambient') return authorizationOfKey(credentials);
  checkTokensMayGoTo(endpoint);
  // The library reads GOOGLE_APPLICATION_CREDENTIALS, the file of gcloud, or the metadata server (workload identity).
  const auth = new GoogleAuth({ scopes: scope });
  return () => auth.getRequestHeaders(audience);
}

/**
 * Returns headers with tokens that are signed with the key itself. logfleet therefore needs no access to a token service, which a closed
 * network may forbid.
 */
function authorizationOfKey({ clientEmail, privateKey, keyId }: GcsCredentials): AuthorizationHeaders {
  const key = privateKey.reveal();
  try {
    createPrivateKey(key);
  } catch {
    const advice = 'write the whole file of the key into the Secret';
    throw destinationError('credentials', `the private key of ${clientEmail} cannot be read: ${advice}`);
  }
  const client = new JWT({ email: clientEmail, key, ...(keyId === undefined ? {} : { keyId }) });
  return () => client.getRequestHeaders(audience);
}
