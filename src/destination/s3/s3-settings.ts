/** Settings for an S3 bucket. */
import type { SecretText } from '../../base/secret-text.ts';
import { destinationError } from '../store/destination-error.ts';
import { folderSegments } from '../store/object-name.ts';
import { checkEndpoint, checkName } from '../store/store-endpoint.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: SecretText;
  readonly sessionToken?: SecretText;
}

export interface S3Settings {
  readonly bucket: string;
  /** Folder in the bucket for all files. If empty, files are stored at the root of the bucket. */
  readonly root: string;
  /** Region of the bucket. The default is `us-east-1`. */
  readonly region?: string;
  /** URL of the store. The default is Amazon S3. */
  readonly endpoint?: string;
  readonly forcePathStyle?: boolean;
  /** Credentials for the store. With `ambient`, the SDK finds credentials in the environment. */
  readonly credentials: S3Credentials | 'ambient';
  readonly serverSideEncryption?: { readonly type: 'AES256' | 'aws:kms' | 'aws:kms:dsse'; readonly kmsKeyID?: string };
  /** Storage class for data files. Other objects use the default class. */
  readonly storageClass?: string;
  /**
   * Retention settings for objects. The retention period begins with the upload. The bucket must have object lock
   * enabled. Temporary files are not locked.
   */
  readonly objectLock?: { readonly mode: 'Governance' | 'Compliance'; readonly retainUntilDays: number };
  /** True to allow a URL that begins with `http://`. */
  readonly insecure?: boolean;
}

/** Amazon S3's naming rule for buckets. */
const bucketForm = /^(?=.{3,63}$)[a-z0-9][a-z0-9.-]*[a-z0-9]$/;
export const regionForm = /^[a-z0-9-]{1,64}$/;

/**
 * Checks the settings. Throws `destination.name` if the folder name is invalid, and `destination.invalid` for other
 * mistakes.
 */
export function checkS3Settings(settings: S3Settings): void {
  const { bucket, root, region, endpoint, insecure, serverSideEncryption } = settings;
  checkName('bucket name', bucket, bucketForm, 'a name of 3 to 63 lower-case letters, digits, dots and hyphens');
  folderSegments(root);
  if (region !== undefined) checkName('region', region, regionForm, 'one such as us-east-1');
  checkEndpoint(endpoint, insecure);
  if (serverSideEncryption?.kmsKeyID !== undefined && serverSideEncryption.type === 'AES256') {
    const advice = 'set that type, or omit kmsKeyID';
    throw destinationError('invalid', `kmsKeyID requires the encryption type aws:kms: ${advice}`);
  }
}
