/** Reads addresses of buckets on the command line: `s3://BUCKET/FOLDER`, and `gs://BUCKET/FOLDER` for Google Cloud Storage. */
import { UsageError } from './usage-error.ts';

export interface BucketAddress {
  readonly scheme: 's3' | 'gs';
  readonly bucket: string;
  /** Folder below the bucket, without a slash at its end. Empty for the bucket itself. */
  readonly folder: string;
}

/** Returns the parts of an address. Undefined if the text is a path or another address. */
export function readBucketAddress(text: string): BucketAddress | undefined {
  const [, scheme, bucket = '', folder = ''] = /^(s3|gs):\/\/([^/]*)\/?(.*)$/.exec(text) ?? [];
  if (scheme !== 's3' && scheme !== 'gs') return undefined;
  if (bucket === '') throw new UsageError(`the address '${text}' names no bucket; write ${scheme}://BUCKET/FOLDER`);
  return { scheme, bucket, folder: folder.replace(/\/$/, '') };
}
