/** Gets access tokens for Google Cloud Storage. */
import { createPrivateKey } from 'node:crypto';
import { GoogleAuth, gaxios, gcpMetadata, JWT } from 'google-auth-library';
import { destinationError } from '../store/destination-error.ts';
import { checkTokensMayGoTo } from '../store/store-endpoint.ts';
import { defaultEndpoint, type GcsCredentials, type GcsSettings } from './gcs-settings.ts';

/** OAuth scope for reading, writing and removing objects. */
const scope = 'https://www.googleapis.com/auth/devstorage.read_write';
/** Audience of the tokens: the public service. Private endpoints also accept tokens with this audience. */
const audience = `${defaultEndpoint}/`;

/** Returns HTTP headers with a valid access token. */
export type AuthorizationHeaders = () => Promise<Headers>;

/**
 * Prepares the authorization of later requests, but sends no request itself. Throws an error if the settings or the
 * credentials cannot be used.
 */
export function authorizationOf({ credentials }: GcsSettings, endpoint: string): AuthorizationHeaders {
  if (credentials !== 'ambient') return authorizationOfKey(credentials);
  checkTokensMayGoTo(endpoint);
  return ambientAuthorization();
}

/**
 * Finds credentials through GOOGLE_APPLICATION_CREDENTIALS, the gcloud file or the metadata server. Requests to the
 * metadata server use `http://`, and never a proxy.
 */
function ambientAuthorization(): AuthorizationHeaders {
  gaxios.instance.defaults = { noProxy: [/^http:/] };
  let auth = new GoogleAuth({ scopes: scope });
  return async () => {
    try {
      return await auth.getRequestHeaders(audience);
    } catch {
      // If the metadata server responds slowly, for example while a pod starts, the library concludes that there is
      // none. The library caches this result until the process ends. Resetting the cache makes the library check again.
      gcpMetadata.resetIsAvailableCache();
      auth = new GoogleAuth({ scopes: scope });
      return await auth.getRequestHeaders(audience);
    }
  };
}

/**
 * Returns request headers with tokens. logfleet signs the tokens itself with the service account key, so it needs no
 * token service.
 */
function authorizationOfKey({ clientEmail, privateKey, keyId }: GcsCredentials): AuthorizationHeaders {
  const key = privateKey.reveal();
  try {
    createPrivateKey(key);
  } catch {
    const advice = 'store the whole key file in the Secret';
    throw destinationError('credentials', `the private key of ${clientEmail} cannot be read: ${advice}`);
  }
  const client = new JWT({ email: clientEmail, key, ...(keyId === undefined ? {} : { keyId }) });
  return () => client.getRequestHeaders(audience);
}
