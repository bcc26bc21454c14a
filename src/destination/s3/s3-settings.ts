/** What an object store is reached by, and whether it can be right: said before anything is sent. */
import type { SecretText } from '../../base/secret-text.ts';
import { destinationError } from '../destination-error.ts';
import { folderSegments } from '../object-name.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: SecretText;
  readonly sessionToken?: SecretText;
}

export interface S3Settings {
  readonly bucket: string;
  /** The root in the bucket, as a name; empty: the bucket itself. */
  readonly root: string;
  /** `us-east-1` where it is left out: stores that know no regions take any. */
  readonly region?: string;
  /** `https://store.example.com`; Amazon's own where it is left out. */
  readonly endpoint?: string;
  readonly forcePathStyle?: boolean;
  /** `ambient`: from the environment's chain (variables, files, the pod's or machine's role), which the caller has to allow. */
  readonly credentials: S3Credentials | 'ambient';
  readonly serverSideEncryption?: { readonly type: 'AES256' | 'aws:kms' | 'aws:kms:dsse'; readonly kmsKeyID?: string };
  /** Of data files only: plan, records and manifest have to be readable at once. */
  readonly storageClass?: string;
  /** Lets the endpoint be `http://`. */
  readonly insecure?: boolean;
}

/** Amazon's rule for names of buckets, which others share. */
const bucketForm = /^(?=.{3,63}$)[a-z0-9][a-z0-9.-]*[a-z0-9]$/;
const regionForm = /^[a-z0-9-]{1,64}$/;

/** `destination.invalid` or `destination.name`, with what to write instead. */
export function checkSettings(settings: S3Settings): void {
  const { bucket, root, region, endpoint, insecure, serverSideEncryption } = settings;
  if (!bucketForm.test(bucket)) {
    throw invalid(
      `s3.bucket ${JSON.stringify(bucket)} is no name of a bucket: 3 to 63 small letters, digits, dots and minuses`,
    );
  }
  folderSegments(root);
  if (region !== undefined && !regionForm.test(region)) {
    throw invalid(`s3.region ${JSON.stringify(region)} is no region: write one as us-east-1`);
  }
  if (endpoint !== undefined) checkEndpoint(endpoint, insecure === true);
  if (serverSideEncryption?.kmsKeyID !== undefined && serverSideEncryption.type === 'AES256') {
    throw invalid('s3.serverSideEncryption.kmsKeyID is for type aws:kms: write that type, or leave the key out');
  }
}

function checkEndpoint(endpoint: string, insecure: boolean): void {
  const url = URL.parse(endpoint);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw invalid(`s3.endpoint ${JSON.stringify(endpoint)} is no address: write one as https://store.example.com`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('s3.endpoint holds a user or password: put credentials into the Secret, and leave them out here');
  }
  if (url.search !== '' || url.hash !== '')
    throw invalid(`s3.endpoint ${JSON.stringify(endpoint)} has more than an address`);
  if (url.protocol === 'http:' && !insecure) {
    throw invalid(
      `s3.endpoint ${endpoint} is not encrypted: write https://, or s3.insecure: true (the flag --insecure) if that is meant`,
    );
  }
}

function invalid(message: string): Error {
  return destinationError('invalid', message);
}
