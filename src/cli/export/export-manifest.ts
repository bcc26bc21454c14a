/**
 * Builds the manifest of an export from the flags of `logfleet export`. Error messages about this manifest name the
 * flags.
 */

import path from 'node:path';
import { Document } from 'yaml';
import { type PlacedFinding, renderExplanation, renderFinding } from '../../api/finding.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { apiVersion } from '../../api/kinds.ts';
import type { SourceFile } from '../../api/manifest-set.ts';
import type { CommandContext } from '../command/context.ts';
import { momentText } from '../command/flags.ts';
import type { ExportOptions, Volumes } from '../command/options.ts';
import { readStoreAddress, regionOf, type StoreAddress } from '../command/store-address.ts';
import { UsageError } from '../command/usage-error.ts';
import { fieldFlags, flagOf, storePath } from './field-flags.ts';

/** Destination of an export that flags define: a folder, a bucket, a container or stdout. */
export type ExportSink =
  | { readonly kind: 'stdout' }
  | { readonly kind: 'folder'; readonly folder: string }
  | StoreAddress;

interface FlagManifest {
  readonly source: SourceFile;
  readonly volumes: Volumes;
}

/** Name of the manifest that is built from flags. Error messages show this name in place of a file name. */
const flagSource = 'the command line';
const volumeName = 'output';
const secretName = 'log-service';

export function sinkOf({ output, endpoint }: ExportOptions): ExportSink {
  if (output === undefined)
    throw new UsageError(
      'the destination is missing: write -o DIR, -o s3://BUCKET/FOLDER, -o gs://BUCKET/FOLDER, -o https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER, or -o -',
    );
  if (output === '-') return { kind: 'stdout' };
  return readStoreAddress(output, endpoint) ?? { kind: 'folder', folder: output };
}

interface FlagSurroundings extends Pick<CommandContext, 'cwd' | 'env'> {
  /**
   * Temporary folder for rows that the user wants on stdout. The rows are written to stdout after the export has
   * checked that none is missing.
   */
  readonly folder: string;
  /** Current wall-clock time in ms, from which relative times such as `now` and `-24h` are computed. */
  readonly nowMs: number;
  /** Secret with the service's credentials. Undefined if environment variables contain them. */
  readonly secret: GivenSecret | undefined;
}

export interface GivenSecret {
  readonly name: string;
  /** Namespace given in the Secret's manifest. If undefined, the Secret is in the export's namespace. */
  readonly namespace: string | undefined;
}

export function flagManifest(
  options: ExportOptions,
  sink: ExportSink,
  { folder, secret, cwd, env, nowMs }: FlagSurroundings,
): FlagManifest {
  if (sink.kind === 'stdout') refuseForStdout(options);
  const { from = '', to = '', query = '', compression } = options;
  const store = sink.kind === 'stdout' || sink.kind === 'folder' ? undefined : sink;
  const given = fieldFlags.filter(({ path }) => sink.kind === 's3' || !path.startsWith(storePath));
  const fields: readonly Field[] = [
    ['apiVersion', apiVersion],
    ['kind', 'SearchExport'],
    ['metadata.name', options.name ?? 'export'],
    ['metadata.namespace', secret?.namespace],
    ['spec.credentialsSecretRef.name', secret?.name ?? secretName],
    ...given.map(({ path, attribute }) => [path, options[attribute]] as const),
    ['spec.query', query],
    ['spec.timeRange.from', momentText(from, nowMs)],
    ['spec.timeRange.to', momentText(to, nowMs)],
    ['spec.output.compression', sink.kind === 'stdout' ? 'None' : compression],
    ...(store ? storeFields(store, options, env) : []),
    ['spec.destination.volume.name', store ? undefined : volumeName],
  ];
  const document = new Document({});
  for (const [path, value] of fields) if (value !== undefined) document.setIn(path.split('.'), value);
  const directory = sink.kind === 'folder' ? path.resolve(cwd, sink.folder) : folder;
  const volumes = new Map(store ? [] : [[volumeName, directory]]);
  return { source: { name: flagSource, text: JSON.stringify(document) }, volumes };
}

type Field = readonly [path: string, value: unknown];

/** Returns the manifest fields of an object store: bucket or container, folder, endpoint and region. */
function storeFields(address: StoreAddress, options: ExportOptions, env: CommandContext['env']): readonly Field[] {
  const { kind, folder, ...place } = address;
  const { endpoint, region, insecure } = options;
  const access = { s3: { region: regionOf(region, env) }, gcs: { endpoint, insecure }, azureBlob: { insecure } }[kind];
  const members = Object.entries({ ...place, prefix: folder || undefined, ...access });
  return members.map(([name, value]) => [`spec.destination.${kind}.${name}`, value]);
}

/** Throws a `UsageError` if the format, the compression or the partitions of the rows are not possible on stdout. */
function refuseForStdout({ format, compression, compressionLevel, partitionBy }: ExportOptions): void {
  if (partitionBy !== undefined && partitionBy !== 'None') {
    throw new UsageError(
      '--partition-by needs folders, but -o - writes all rows to stdout: remove --partition-by, or write -o DIR',
    );
  }
  if (format === 'Parquet') {
    throw new UsageError(
      'Parquet cannot be written to stdout, because reading Parquet requires a seekable file: use -o DIR, or another --format',
    );
  }
  if (compressionLevel !== undefined || (compression !== undefined && compression !== 'None')) {
    throw new UsageError(
      'rows on stdout are not compressed: remove --compression and --compression-level, and pipe the rows to gzip',
    );
  }
}

/**
 * Returns `--from` and `--to` flags with absolute times, for the next start of the command. If the user gave absolute
 * times, returns an empty string, because the same flags can be used again.
 */
export function fixedRangeFlags(
  { from = '', to = '' }: Pick<ExportOptions, 'from' | 'to'>,
  { spec }: SearchExport,
): string {
  const isMoving = [from, to].some((text) => text === 'now' || text.startsWith('-'));
  return isMoving ? `--from ${spec.timeRange.from} --to ${spec.timeRange.to}` : '';
}

/**
 * Renders a problem in an export's manifest, preceded by the name of the wrong flag or by the position in the file.
 * Returns undefined if `logfleet export` can ignore the problem.
 */
export function renderExportFinding(finding: PlacedFinding): string | undefined {
  const { file, path: place, severity, problem, remedy } = finding;
  // Drops warnings that the manifest names no credentials, because `logfleet export` can use the user's own credentials
  // for the object store.
  if (storePlaces.has(place) && severity === 'warning') return undefined;
  if (file !== flagSource) return renderFinding(finding);
  const flag = flagOf(place) ?? place;
  const isTime = severity === 'error' && (flag === '--from' || flag === '--to');
  const explanation = renderExplanation({ problem, remedy: isTime ? `${remedy}; ${shortTimes}` : remedy });
  const mark = severity === 'warning' ? 'warning: ' : '';
  return `${flag}: ${mark}${explanation}`;
}

/**
 * Paths of the fields that define an object store. A warning at one of these paths means that the manifest names no
 * credentials for the store.
 */
const storePlaces: ReadonlySet<string> = new Set(['s3', 'azureBlob', 'gcs'].map((kind) => `spec.destination.${kind}`));

/** Hint about the short forms of times that flags accept. */
const shortTimes =
  '--from and --to also accept a date such as 2026-11-01, the word now, and a time before now such as -24h';
