/**
 * Converts the flags of `logfleet export` to the text of a manifest, which is then checked like the text of a manifest file. Messages about
 * errors in this manifest name the flags instead of its fields.
 */

import path from 'node:path';
import { Document } from 'yaml';
import { type PlacedFinding, renderExplanation, renderFinding } from '../../api/finding.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { apiVersion } from '../../api/kinds.ts';
import type { SourceFile } from '../../api/manifest-set.ts';
import { parseDuration } from '../../base/duration.ts';
import { isoText } from '../../base/time-text.ts';
import type { CommandContext } from '../context.ts';
import type { ExportOptions, Volumes } from '../options.ts';
import { readStoreAddress, type StoreAddress } from '../store-address.ts';
import { UsageError } from '../usage-error.ts';
import { regionOf } from '../verify/manifest-place.ts';
import { fieldFlags, flagOf, storePath } from './field-flags.ts';

/**
 * Place to which `logfleet export` writes the rows when flags define the export: a folder, a bucket, a container of Azure Blob Storage, or
 * stdout.
 */
export type ExportSink =
  | { readonly kind: 'stdout' }
  | { readonly kind: 'folder'; readonly folder: string }
  | StoreAddress;

interface FlagManifest {
  readonly source: SourceFile;
  readonly volumes: Volumes;
}

/** File name of the manifest that was made from flags. Users never see the name, because messages show the flag instead. */
const flagSource = 'the command line';
const volumeName = 'output';
const secretName = 'log-service';

export function sinkOf({ output, endpoint }: ExportOptions): ExportSink {
  // An empty value is an error, because it usually comes from a shell variable that is not set. As a path, it would mean the
  // current folder.
  if (!output)
    throw new UsageError(
      'the destination is missing: write -o DIR, -o s3://BUCKET/FOLDER, -o gs://BUCKET/FOLDER, -o https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER, or -o -',
    );
  if (output === '-') return { kind: 'stdout' };
  return readStoreAddress(output, endpoint) ?? { kind: 'folder', folder: output };
}

interface FlagSurroundings extends Pick<CommandContext, 'cwd' | 'env'> {
  /** Folder that holds the rows for stdout until the export has proven that no row is missing. */
  readonly folder: string;
  /** Current wall time in ms. Times in flags such as `now` and `-24h` are relative to it. */
  readonly nowMs: number;
  /** Secret with the credentials of the log service. Undefined if environment variables hold the credentials instead. */
  readonly secret: GivenSecret | undefined;
}

export interface GivenSecret {
  readonly name: string;
  /**
   * Namespace in the manifest of the Secret. Undefined if the manifest has none: the Secret then counts as being in the export's
   * namespace.
   */
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

/**
 * Returns the manifest fields that describe an object store: its bucket or container, folder, endpoint and region. Other code
 * sets the fields that only S3 stores have.
 */
function storeFields(address: StoreAddress, options: ExportOptions, env: CommandContext['env']): readonly Field[] {
  const { kind, folder, ...place } = address;
  const { endpoint, region, insecure } = options;
  const access = { s3: { region: regionOf(region, env) }, gcs: { endpoint, insecure }, azureBlob: { insecure } }[kind];
  const members = Object.entries({ ...place, prefix: folder || undefined, ...access });
  return members.map(([name, value]) => [`spec.destination.${kind}.${name}`, value]);
}

/** Throws a `UsageError` if the flags ask for a format, a compression or partitions that stdout does not support. */
function refuseForStdout({ format, compression, compressionLevel, partitionBy }: ExportOptions): void {
  if (partitionBy !== undefined && partitionBy !== 'None') {
    throw new UsageError(
      '--partition-by needs folders, but -o - writes all rows to stdout: remove --partition-by, or write -o DIR',
    );
  }
  if (format === 'Parquet') {
    throw new UsageError(
      'Parquet cannot be written to stdout, because its readers start at the end of the file: write -o DIR, or another --format',
    );
  }
  if (compressionLevel !== undefined || (compression !== undefined && compression !== 'None')) {
    throw new UsageError(
      'rows on stdout are not compressed: remove --compression and --compression-level, and pipe them to gzip',
    );
  }
}

const dateForm = /^\d{4}-\d\d-\d\d$/;

/**
 * Converts a time on the command line to the form of manifests: `now`, a time before now such as `-24h`, or a date, which means midnight.
 * Returns any other text unchanged.
 */
export function momentText(text: string, nowMs: number): string {
  if (text === 'now') return isoText(nowMs);
  if (dateForm.test(text)) return `${text}T00:00:00`;
  const beforeMs = text.startsWith('-') ? parseDuration(text.slice(1)) : undefined;
  return beforeMs === undefined ? text : isoText(nowMs - beforeMs);
}

/**
 * Flags that select the same time range when the command is started again. Empty unless `--from` or `--to` is relative to the current time.
 */
export function fixedRangeFlags(
  { from = '', to = '' }: Pick<ExportOptions, 'from' | 'to'>,
  { spec }: SearchExport,
): string {
  const isMoving = [from, to].some((text) => text === 'now' || text.startsWith('-'));
  return isMoving ? `--from ${spec.timeRange.from} --to ${spec.timeRange.to}` : '';
}

/**
 * Renders an error or warning about an export's manifest, with the flag that caused it, or with its place in the file. Undefined
 * if the error or warning does not apply to `logfleet export`.
 */
export function renderExportFinding(finding: PlacedFinding): string | undefined {
  const { file, path: place, severity, problem, remedy } = finding;
  // A warning about missing credentials of an object store is not shown, because `logfleet export` uses the credentials of the user.
  if (storePlaces.has(place) && severity === 'warning') return undefined;
  if (file !== flagSource) return renderFinding(finding);
  const flag = flagOf(place) ?? place;
  const isTime = severity === 'error' && (flag === '--from' || flag === '--to');
  const explanation = renderExplanation({ problem, remedy: isTime ? `${remedy}; ${shortTimes}` : remedy });
  const mark = severity === 'warning' ? 'warning: ' : '';
  return `${flag}: ${mark}${explanation}`;
}

/** Fields that describe an object store. A warning that names one of these fields is about missing credentials of the store. */
const storePlaces: ReadonlySet<string> = new Set(['s3', 'azureBlob', 'gcs'].map((kind) => `spec.destination.${kind}`));

/** Hint that flags accept some forms of times that manifests do not. */
const shortTimes =
  '--from and --to also accept a date such as 2026-11-01, the word now, and a time before now such as -24h';
