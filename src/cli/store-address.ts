/**
 * Reads addresses of object stores on the command line: `s3://BUCKET/FOLDER`, `gs://BUCKET/FOLDER` for Google Cloud Storage, and
 * `https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER` for Azure Blob Storage.
 */
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

export interface ContainerAddress {
  /** Name of the storage account. Undefined if `endpoint` is set. */
  readonly account?: string;
  /** Address of the blob service, for accounts with another address. */
  readonly endpoint?: string;
  readonly container: string;
  /** Folder below the container, without slashes at its ends. Empty for the container itself. */
  readonly folder: string;
}

/** Flags that only S3 stores use, by the names of their attributes in the parsed options. */
export const flagsOfS3 = ['region', 'pathStyle'] as const;

export function isContainerAddress(text: string): boolean {
  return /^https?:\/\//.test(text);
}

/** Splits an address. `endpoint` is the value of `--endpoint`, for services whose address has a path, such as those of emulators. */
export function readContainerAddress(text: string, endpoint: string | undefined): ContainerAddress {
  const url = URL.parse(text);
  if (url?.search !== '' || url.hash !== '' || url.username !== '') {
    const address = text.replace(/[?#].*/, '');
    throw new UsageError(
      `'${address}' is not the address of a folder in Azure Blob Storage; write the address without user name, ? and #`,
    );
  }
  const service = (endpoint ?? url.origin).replace(/\/+$/, '');
  if (!text.startsWith(`${service}/`)) throw new UsageError(`'${text}' is not below --endpoint ${service}`);
  const [container = '', ...folders] = text
    .slice(service.length + 1)
    .split('/')
    .map(decodeURIComponent);
  if (container === '')
    throw new UsageError(`the address '${text}' names no container; write ${service}/CONTAINER/FOLDER`);
  const folder = folders.join('/').replace(/\/$/, '');
  const [, account] = /^https:\/\/([a-z0-9]+)\.blob\.core\.windows\.net$/.exec(service) ?? [];
  return { ...(account === undefined ? { endpoint: service } : { account }), container, folder };
}
