/**
 * Parses addresses of object stores: `s3://BUCKET/FOLDER`, `gs://BUCKET/FOLDER`, and
 * `https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER`.
 */
import { shellWord } from '../../base/shell-word.ts';
import { withoutTrailingSlashes } from '../../base/trailing-slashes.ts';
import type { CommandContext } from './context.ts';
import type { StoreOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

/** Folder in an object store. `folder` is empty for the whole bucket or container. */
export type StoreAddress = { readonly folder: string } & (
  | { readonly kind: 's3' | 'gcs'; readonly bucket: string }
  /** If the address contains no account name, `endpoint` is set instead of `account`. */
  | { readonly kind: 'azureBlob'; readonly account?: string; readonly endpoint?: string; readonly container: string }
);

/** Flags that apply only to S3 stores. */
export const flagsOfS3 = ['region', 'pathStyle'] as const;

/** Returns true for the address of an object store, and false for a file path. */
export function isStoreAddress(text: string): boolean {
  return /^(?:s3|gs):\/\//.test(text) || isContainerAddress(text);
}

function isContainerAddress(text: string): boolean {
  return /^https?:\/\//.test(text);
}

/**
 * Splits an address into its parts. Returns undefined if `text` is a file path. `endpoint` is the value of
 * `--endpoint`.
 */
export function readStoreAddress(text: string, endpoint: string | undefined): StoreAddress | undefined {
  if (isContainerAddress(text)) return readContainerAddress(text, endpoint);
  const [, scheme, bucket = '', folder = ''] = /^(s3|gs):\/\/([^/]*)\/?(.*)$/.exec(text) ?? [];
  if (scheme === undefined) return undefined;
  if (bucket === '') throw new UsageError(`the address '${text}' has no bucket; write ${scheme}://BUCKET/FOLDER`);
  return { kind: scheme === 's3' ? 's3' : 'gcs', bucket, folder: folder.replace(/\/$/, '') };
}

function readContainerAddress(text: string, endpoint: string | undefined): StoreAddress {
  const url = URL.parse(text);
  if (url?.search !== '' || url.hash !== '' || url.username !== '') {
    const address = text.replace(/[?#].*/, '');
    throw new UsageError(
      `'${address}' is not the address of a folder in Azure Blob Storage; write the address without a user name, ? or #`,
    );
  }
  const service = endpoint === undefined ? url.origin : withoutTrailingSlashes(endpoint);
  if (endpoint !== undefined && !text.startsWith(`${service}/`))
    throw new UsageError(`'${text}' is not below --endpoint ${service}: change the address or --endpoint`);
  const path = endpoint === undefined ? url.pathname.slice(1) : text.slice(service.length + 1);
  const [container = '', ...folders] = path.split('/').map((part) => decodedPart(part, text));
  if (container === '')
    throw new UsageError(`the address '${text}' has no container; write ${service}/CONTAINER/FOLDER`);
  const folder = folders.join('/').replace(/\/$/, '');
  const [, account] = /^https:\/\/([a-z0-9]+)\.blob\.core\.windows\.net$/.exec(service) ?? [];
  return { kind: 'azureBlob', ...(account === undefined ? { endpoint: service } : { account }), container, folder };
}

/** Decodes a part of the path in the address `text`. */
function decodedPart(part: string, text: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UsageError(`the address '${text}' contains an invalid % sequence: write %25 for the character %`);
  }
}

/** Returns the region of an object store, from the flag or from the AWS environment variables. */
export function regionOf(region: string | undefined, env: CommandContext['env']): string | undefined {
  return region ?? (env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || undefined);
}

/** Renders the flags that make another command read the same store. Each flag is preceded by a space. */
export function renderStoreFlags({ endpoint, region, pathStyle, insecure }: StoreOptions): string {
  return [
    endpoint === undefined ? '' : ` --endpoint ${shellWord(endpoint)}`,
    region === undefined ? '' : ` --region ${shellWord(region)}`,
    pathStyle ? ' --path-style' : '',
    insecure ? ' --insecure' : '',
  ].join('');
}
