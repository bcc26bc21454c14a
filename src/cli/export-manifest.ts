/**
 * The manifest that the flags of `logfleet export` stand for, where a person writes none: the same text that a file would have, so that it is
 * held to the same rules. What is wrong with it is said of the flag.
 */
import path from 'node:path';
import type { SearchExport } from '../api/kinds.ts';
import type { PlacedFinding, SourceFile } from '../api/manifest-set.ts';
import { parseDuration } from '../base/duration.ts';
import type { CommandContext } from './context.ts';
import type { Volumes } from './export-places.ts';
import { flagOf, inFlags } from './flag-words.ts';
import { regionOf } from './manifest-place.ts';
import type { ExportOptions, ExportRequestOptions } from './options.ts';
import { renderFinding } from './render/finding.ts';
import { UsageError } from './usage-error.ts';

/** Where the rows of an export by flags go. */
export type ExportSink =
  | { readonly kind: 'stdout' }
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'store'; readonly bucket: string; readonly prefix: string };

export interface FlagManifest {
  readonly source: SourceFile;
  /** The volumes that the manifest names. */
  readonly volumes: Volumes;
}

/** The name of the source in findings, which are told by flag. */
const flagSource = 'the command line';
const volumeName = 'output';
const secretName = 'log-service';

export function sinkOf({ output }: ExportOptions): ExportSink {
  // An empty one is mostly a variable that is not set, and would be the folder in which somebody happens to be.
  if (!output) throw new UsageError('say where the rows go: -o DIR, -o s3://BUCKET/FOLDER, or -o -');
  if (output === '-') return { kind: 'stdout' };
  if (!output.startsWith('s3://')) return { kind: 'folder', folder: output };
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(output) ?? [];
  if (bucket === '') throw new UsageError(`'${output}' names no bucket; write s3://BUCKET/FOLDER`);
  return { kind: 'store', bucket, prefix: prefix.replace(/\/$/, '') };
}

export interface FlagSurroundings extends Pick<CommandContext, 'cwd' | 'env'> {
  /** Where rows that go to stdout are kept until they are proven. */
  readonly folder: string;
  /** What `now`, and spans before it, are meant from. */
  readonly nowMs: number;
  /** The Secret that leads to the service; undefined where variables do. */
  readonly secret: GivenSecret | undefined;
}

export interface GivenSecret {
  readonly name: string;
  /** As its manifest names it; where it names none, the export's is that of manifests which name none, too. */
  readonly namespace: string | undefined;
}

export function flagManifest(
  options: ExportOptions,
  sink: ExportSink,
  { folder, nowMs, secret, cwd, env }: FlagSurroundings,
): FlagManifest {
  const directory = sink.kind === 'folder' ? path.resolve(cwd, sink.folder) : folder;
  const document = {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExport',
    metadata: { name: options.name ?? 'export', namespace: secret?.namespace },
    spec: {
      credentialsSecretRef: { name: secret?.name ?? secretName },
      ...requestMembers(options, nowMs),
      output: outputMembers(options, sink),
      destination: sink.kind === 'store' ? { s3: storeMembers(options, sink, env) } : { volume: { name: volumeName } },
    },
  };
  const volumes = sink.kind === 'store' ? new Map<string, string>() : new Map([[volumeName, directory]]);
  return { source: { name: flagSource, text: JSON.stringify(document) }, volumes };
}

function requestMembers(options: ExportRequestOptions, nowMs: number): object {
  const { query = '', from = '', to = '', timeZone, byReceiptTime, autoParsingMode, results, parallelism } = options;
  const { maxMessages, maxBytesScanned, activeDeadlineSeconds, incompletePolicy, proof, settleDelay } = options;
  return {
    query,
    timeRange: { from: moment(from, nowMs), to: moment(to, nowMs), timeZone },
    byReceiptTime,
    autoParsingMode,
    results,
    parallelism,
    limits: { maxMessages, maxBytesScanned },
    activeDeadlineSeconds,
    incompletePolicy,
    proof,
    settleDelay,
  };
}

function outputMembers({ format, compression, fields, maxPartSize }: ExportRequestOptions, sink: ExportSink): object {
  if (sink.kind !== 'stdout') return { format, compression, fields, maxPartSize };
  if (format === 'Parquet') {
    throw new UsageError('Parquet is read from its end, and cannot go to stdout: write -o DIR, or another --format');
  }
  if (compression !== undefined && compression !== 'None') {
    throw new UsageError('rows go to stdout as they are: leave --compression out, and write | gzip behind it');
  }
  return { format, compression: 'None', fields, maxPartSize };
}

function storeMembers(
  { endpoint, region, pathStyle, insecure }: ExportOptions,
  { bucket, prefix }: Extract<ExportSink, { kind: 'store' }>,
  env: CommandContext['env'],
): object {
  const address = { endpoint, region: regionOf(region, env), forcePathStyle: pathStyle, insecure };
  return { bucket, ...(prefix === '' ? {} : { prefix }), ...address };
}

const dateForm = /^\d{4}-\d\d-\d\d$/;

/** `now`, `-24h` from now, and a date, which is its midnight; all else as the spec takes it. */
function moment(text: string, nowMs: number): string {
  if (text === 'now') return new Date(nowMs).toISOString();
  if (dateForm.test(text)) return `${text}T00:00:00`;
  const beforeMs = text.startsWith('-') ? parseDuration(text.slice(1)) : undefined;
  return beforeMs === undefined ? text : new Date(nowMs - beforeMs).toISOString();
}

/**
 * The flags that name the range as this start took it, where its own mean another with each start; empty where they mean the same. To be
 * asked about an export by flags.
 */
export function fixedRangeFlags({ from = '', to = '' }: ExportRequestOptions, { spec }: SearchExport): string {
  const isMoving = [from, to].some((text) => text === 'now' || text.startsWith('-'));
  return isMoving ? `--from ${spec.timeRange.from} --to ${spec.timeRange.to}` : '';
}

/** A line about the flag that a finding is about, or the place in its file; undefined where it means nothing here. */
export function renderExportFinding(finding: PlacedFinding): string | undefined {
  const { file, path: place, severity, message } = finding;
  // That no Secret is named for the store: whoever types the command lends their own credentials.
  if (place === 'spec.destination.s3' && severity === 'warning') return undefined;
  if (file !== flagSource) return renderFinding(finding);
  const flag = flagOf(place) ?? place;
  return `${flag}: ${severity === 'warning' ? 'warning: ' : ''}${inFlags(message)}${shortTimes(flag, message)}\n`;
}

/** What flags take for a time beside what a manifest takes. */
function shortTimes(flag: string, message: string): string {
  return (flag === '--from' || flag === '--to') && message.includes('write a local time')
    ? '; or a date, now, or a time before it in h, m and s, as -24h'
    : '';
}
