/** Settings for a Google Cloud Storage bucket. */
import { recordOfJson } from '../../base/record.ts';
import { SecretText } from '../../base/secret-text.ts';
import { folderSegments } from '../store/object-name.ts';
import { checkEndpoint, checkName } from '../store/store-endpoint.ts';

/** Service account key. */
export interface GcsCredentials {
  readonly clientEmail: string;
  /** Private key in PEM format. */
  readonly privateKey: SecretText;
  readonly keyId?: string;
}

export interface GcsSettings {
  readonly bucket: string;
  /** Folder in the bucket for all files. If empty, files are stored at the root of the bucket. */
  readonly root: string;
  /** URL of the JSON API. The default is `https://storage.googleapis.com`. */
  readonly endpoint?: string;
  /**
   * Credentials for the bucket. With `ambient`, Google's library finds credentials (Application Default Credentials).
   */
  readonly credentials: GcsCredentials | 'ambient';
  /** True to allow a URL that begins with `http://`. */
  readonly insecure?: boolean;
}

export const defaultEndpoint = 'https://storage.googleapis.com';

const bucketForm = /^(?=.{3,222}$)[a-z0-9][a-z0-9._-]*[a-z0-9]$/;

/**
 * Checks the settings. Throws `destination.name` if the folder name is invalid, and `destination.invalid` for other
 * mistakes.
 */
export function checkGcsSettings({ bucket, root, endpoint, insecure }: GcsSettings): void {
  checkName(
    'bucket name',
    bucket,
    bucketForm,
    'a name of 3 to 63 lower-case letters, digits, dots, underscores and hyphens',
  );
  folderSegments(root);
  checkEndpoint(endpoint, insecure);
}

/**
 * Reads a service account key file. Returns undefined for other credential files, because they can contain commands
 * that Google's library would run.
 */
export function credentialsOfKeyFile(text: string): GcsCredentials | undefined {
  const file = recordOfJson(text);
  if (file?.['type'] !== 'service_account') return undefined;
  const { client_email: clientEmail, private_key: privateKey, private_key_id: keyId } = file;
  if (typeof clientEmail !== 'string' || typeof privateKey !== 'string') return undefined;
  return {
    clientEmail,
    privateKey: new SecretText(privateKey),
    ...(typeof keyId === 'string' ? { keyId } : {}),
  };
}
