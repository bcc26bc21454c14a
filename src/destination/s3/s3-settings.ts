/** Settings of an object store. They are validated before any request. */
import type { SecretText } from '../../base/secret-text.ts';
import { destinationError } from '../destination-error.ts';
import { folderSegments } from '../object-name.ts';
import { checkEndpoint, checkName } from '../store-endpoint.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: SecretText;
  readonly sessionToken?: SecretText;
}

export interface S3Settings {
  readonly bucket: string;
  /** Folder in the bucket that is the destination's root. If empty, the root is the bucket itself. */
  readonly root: string;
  /** Region of the bucket. The default is `us-east-1`, which stores without regions accept. */
  readonly region?: string;
  /** Address of the store, such as `https://store.example.com`. The default is Amazon S3. */
  readonly endpoint?: string;
  readonly forcePathStyle?: boolean;
  /**
   * Credentials for the store. `ambient` means the credentials of the environment (variables, files, role of the pod or machine). The
   * caller checks whether they are allowed.
   */
  readonly credentials: S3Credentials | 'ambient';
  readonly serverSideEncryption?: { readonly type: 'AES256' | 'aws:kms' | 'aws:kms:dsse'; readonly kmsKeyID?: string };
  /** Storage class of the data files. Other objects use the default class, because logfleet must be able to read them immediately. */
  readonly storageClass?: string;
  /**
   * Retention of objects, which starts at their upload. It does not apply to probe files, which test whether the bucket can be written. The
   * bucket must allow object lock.
   */
  readonly objectLock?: { readonly mode: 'Governance' | 'Compliance'; readonly retainUntilDays: number };
  /** True if the address of the store may begin with `http://`. */
  readonly insecure?: boolean;
}

/** Naming rule of Amazon S3 for buckets. Compatible stores have the same rule. */
const bucketForm = /^(?=.{3,63}$)[a-z0-9][a-z0-9.-]*[a-z0-9]$/;
const regionForm = /^[a-z0-9-]{1,64}$/;

/** Checks the settings of a store. Throws `destination.invalid` or `destination.name`; the message says what to write. */
export function checkSettings(settings: S3Settings): void {
  const { bucket, root, region, endpoint, insecure, serverSideEncryption } = settings;
  checkName('bucket name', bucket, bucketForm, 'a name of 3 to 63 lower-case letters, digits, dots and hyphens');
  folderSegments(root);
  if (region !== undefined) checkName('region', region, regionForm, 'one such as us-east-1');
  checkEndpoint(endpoint, insecure);
  if (serverSideEncryption?.kmsKeyID !== undefined && serverSideEncryption.type === 'AES256') {
    const advice = 'write that type, or leave the key out';
    throw destinationError('invalid', `kmsKeyID requires the encryption type aws:kms: ${advice}`);
  }
}
