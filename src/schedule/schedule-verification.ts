/**
 * Checks whether the runs of a schedule cover a time range without gaps or overlaps. Reads the schedule records, export
 * manifests, and optionally the data files.
 */

import { hasCode, LogfleetError } from '../base/errors.ts';
import { inParallel } from '../base/parallel.ts';
import { type TimeRange, union, without } from '../base/time-range.ts';
import { isoText } from '../base/time-text.ts';
import { ExportLayout } from '../destination/export-layout.ts';
import { type Verification, verifyExport } from '../destination/export-verification.ts';
import { type Manifest, manifestKind, manifestSha256 } from '../destination/manifest.ts';
import { contradictionsIn } from '../destination/manifest-check.ts';
import {
  listRecordedRuns,
  type RunRecord,
  readRunRecord,
  readStart,
  type ScheduleLayout,
} from '../destination/schedule-records.ts';
import { type Destination, largestManifestBytes } from '../destination/store/destination.ts';
import { readRunTimes, runName } from './run-name.ts';

export type RunProblemKind =
  /** The schedule record is invalid, or its name is not a time range. */
  | 'damagedRecord'
  /** The schedule record contradicts its file name. */
  | 'misnamedRecord'
  | 'missingManifest'
  /** The manifest is invalid, although its SHA-256 equals the SHA-256 in the record. */
  | 'damagedManifest'
  /** The manifest's SHA-256 differs from the SHA-256 in the record. */
  | 'changedManifest'
  /** The manifest differs from the schedule record. */
  | 'contradictoryManifest'
  /** The export manifest marks a part of the run's time range as incomplete. */
  | 'incomplete'
  /** The data files of the run differ from its export manifest. */
  | 'differentFiles';

export interface RunProblem {
  readonly kind: RunProblemKind;
  /** Path of the schedule record or export manifest, relative to the root of the destination. */
  readonly where: string;
  /**
   * Explanation for users; may be empty. For a damaged record or manifest, the explanation is a complete sentence that
   * names the object.
   */
  readonly message: string;
  /** Result of verifying the run's files. Present only if the files differ from the export manifest. */
  readonly verification?: Verification;
}

/** Time range that two runs cover. */
export interface RunOverlap extends TimeRange {
  readonly runs: readonly [string, string];
}

export interface ScheduleVerification extends TimeRange {
  /** Number of readable schedule records in the time range. */
  readonly runs: number;
  /**
   * End of the newest run with a schedule record. Present only if the time range has no schedule record, so this run
   * lies outside the time range.
   */
  readonly newestRunEndMs?: number;
  readonly rows: number;
  /** Total size in bytes of the data files, as stated in the schedule records. */
  readonly bytes: number;
  readonly gaps: readonly TimeRange[];
  readonly overlaps: readonly RunOverlap[];
  readonly problems: readonly RunProblem[];
  /** Number of export manifests that match their schedule records. */
  readonly manifests: number;
  /** Number of runs whose files were read. */
  readonly filesRead: number;
  /** Number of different queries that the runs use. */
  readonly queries: number;
  /** Number of runs that select messages by receipt time instead of message time. */
  readonly byReceiptTime: number;
}

export interface ScheduleVerificationOptions {
  readonly schedule: string;
  /**
   * Start of the time range to verify, in ms since the epoch. Default: the start of the schedule or of its first run,
   * whichever is earlier.
   */
  readonly fromMs?: number | undefined;
  /** End of the time range to verify, in ms since the epoch. Default: the end of the last run. */
  readonly toMs?: number | undefined;
  /** True if the data files are not read. */
  readonly manifestsOnly: boolean;
  /** Called after each verified run. */
  readonly onProgress: (runs: number, totalRuns: number) => void;
  readonly signal: AbortSignal;
}

/** Maximum number of concurrent reads of records and manifests. */
const readsAtOnce = () => 8;

/**
 * Verifies the files of a schedule. Returns undefined if the destination contains no schedule record. Without `fromMs`,
 * reads the stored start of the schedule, and throws the error `destination.damaged` if that file is damaged.
 */
export async function verifySchedule(
  destination: Destination,
  layout: ScheduleLayout,
  options: ScheduleVerificationOptions,
): Promise<ScheduleVerification | undefined> {
  const { manifestsOnly, onProgress, signal } = options;
  const problems: RunProblem[] = [];
  const named = await listNames(destination, layout, problems);
  if (named.size === 0 && problems.length === 0) return undefined;
  const records = await readRecords(destination, layout, named, options, problems);
  const range = await rangeOf(destination, layout, records, options);
  const queries = new Set<string>();
  let byReceiptTime = 0;
  const matching: RunRecord[] = [];
  let done = 0;
  await inParallel(records, readsAtOnce, async (record) => {
    signal.throwIfAborted();
    const found = await checkedManifest(destination, record);
    if ('kind' in found) problems.push(found);
    else {
      queries.add(found.export.query);
      if (found.export.byReceiptTime) byReceiptTime++;
      matching.push(record);
      if (!found.complete) problems.push({ kind: 'incomplete', where: layoutOf(record).manifest, message: '' });
    }
    if (manifestsOnly) onProgress(++done, records.length);
  });
  const read = manifestsOnly ? [] : matching.toSorted((a, b) => a.fromMs - b.fromMs);
  await verifyFiles(destination, read, options, problems);
  const sum = (figure: 'rows' | 'bytes') => records.reduce((total, record) => total + record[figure], 0);
  const isOutside = records.length === 0 && problems.length === 0;
  return {
    ...range,
    runs: records.length,
    ...(isOutside && {
      newestRunEndMs: [...named.values()].reduce((latestMs, { toMs }) => Math.max(latestMs, toMs), 0),
    }),
    rows: sum('rows'),
    bytes: sum('bytes'),
    gaps: without(range, union(records)),
    overlaps: overlapsOf(records),
    problems: problems.sort((a, b) => (a.where < b.where ? -1 : 1)),
    manifests: matching.length,
    filesRead: read.length,
    queries: queries.size,
    byReceiptTime,
  };
}

/** Returns the names of the schedule records with their time ranges. Adds a problem for each invalid name. */
async function listNames(
  destination: Destination,
  layout: ScheduleLayout,
  problems: RunProblem[],
): Promise<ReadonlyMap<string, TimeRange>> {
  const named = new Map<string, TimeRange>();
  for await (const times of listRecordedRuns(destination, layout)) {
    const span = readRunTimes(times);
    if (span) named.set(times, span);
    else
      problems.push({
        kind: 'damagedRecord',
        where: layout.run(times),
        message: `the name of ${layout.run(times)} is not the time range of a run`,
      });
  }
  return named;
}

/**
 * Returns the schedule records in the requested time range, ordered by time. Adds a problem for each record that is
 * damaged or differs from its name.
 */
async function readRecords(
  destination: Destination,
  layout: ScheduleLayout,
  named: ReadonlyMap<string, TimeRange>,
  { schedule, fromMs, toMs, signal }: ScheduleVerificationOptions,
  problems: RunProblem[],
): Promise<readonly RunRecord[]> {
  const wanted = (span: TimeRange) =>
    span.toMs > (fromMs ?? Number.NEGATIVE_INFINITY) && span.fromMs < (toMs ?? Number.POSITIVE_INFINITY);
  const records: RunRecord[] = [];
  const inRange = [...named].filter(([, span]) => wanted(span));
  await inParallel(inRange, readsAtOnce, async ([times, span]) => {
    signal.throwIfAborted();
    const where = layout.run(times);
    const record = await unlessDamaged(readRunRecord(destination, layout, times), (message) =>
      problems.push({ kind: 'damagedRecord', where, message }),
    );
    if (!record) return;
    const problem = contradictionToName(record, span, schedule);
    if (problem !== undefined) problems.push({ kind: 'misnamedRecord', where, message: problem });
    else records.push(record);
  });
  return records.sort((a, b) => a.fromMs - b.fromMs || a.toMs - b.toMs);
}

/** Verifies the data files of runs, one run after another. Adds a problem for each run whose files differ. */
async function verifyFiles(
  destination: Destination,
  records: readonly RunRecord[],
  { onProgress, signal }: ScheduleVerificationOptions,
  problems: RunProblem[],
): Promise<void> {
  for (const [index, record] of records.entries()) {
    signal.throwIfAborted();
    const where = layoutOf(record).manifest;
    const verification = await unlessDamaged(verifyExport(destination, layoutOf(record)), (message) =>
      problems.push({ kind: 'differentFiles', where, message }),
    );
    const isDifferent = verification !== undefined && verification.differences.length > 0;
    if (isDifferent) problems.push({ kind: 'differentFiles', where, message: '', verification });
    onProgress(index + 1, records.length);
  }
}

/** Reads a stored object. If it is damaged, calls `onDamage` and returns undefined. */
async function unlessDamaged<T>(reading: Promise<T>, onDamage: (message: string) => void): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!hasCode(error, 'destination.damaged')) throw error;
    onDamage(error.message);
    return undefined;
  }
}

/** Compares a schedule record with its file name. Returns the difference as text, or undefined if they match. */
function contradictionToName(record: RunRecord, span: TimeRange, schedule: string): string | undefined {
  const { fromMs, toMs, run } = record;
  if (fromMs !== span.fromMs || toMs !== span.toMs)
    return `the schedule record is for ${isoText(fromMs)} to ${isoText(toMs)}, but its file name has another time range`;
  return run === runName(schedule, span) ? undefined : `the schedule record belongs to another run, ${run}`;
}

async function rangeOf(
  destination: Destination,
  layout: ScheduleLayout,
  records: readonly RunRecord[],
  { fromMs, toMs }: ScheduleVerificationOptions,
): Promise<TimeRange> {
  const startMs = fromMs === undefined ? await storedStart(destination, layout) : undefined;
  const firstMs = records[0]?.fromMs ?? startMs ?? toMs ?? 0;
  const start = fromMs ?? Math.min(firstMs, startMs ?? firstMs);
  return { fromMs: start, toMs: toMs ?? records.reduce((latestMs, record) => Math.max(latestMs, record.toMs), start) };
}

/** Reads the stored start of the schedule. If the stored start cannot be read, the error suggests `--from`. */
async function storedStart(destination: Destination, layout: ScheduleLayout): Promise<number | undefined> {
  try {
    return await readStart(destination, layout);
  } catch (error) {
    if (!hasCode(error, 'destination.damaged') && !hasCode(error, 'destination.frozen')) throw error;
    const { code, handling, reason } = error;
    const message = `${error.message}; or set the start of the time range with --from`;
    throw new LogfleetError({ code, handling, reason, message, cause: error });
  }
}

function layoutOf({ run, fingerprint }: RunRecord): ExportLayout {
  return ExportLayout.of(run, fingerprint);
}

/**
 * Reads the export manifest of a run. Returns the manifest if it matches the schedule record, otherwise the problem.
 */
async function checkedManifest(destination: Destination, record: RunRecord): Promise<Manifest | RunProblem> {
  const { manifest: where } = layoutOf(record);
  try {
    const content = await destination.read(where, largestManifestBytes);
    if (!content) return { kind: 'missingManifest', where, message: '' };
    const sha256 = manifestSha256(content);
    if (sha256 !== record.manifestSha256) {
      return {
        kind: 'changedManifest',
        where,
        message: `the export manifest has the SHA-256 ${sha256}, but the schedule record of the run has ${record.manifestSha256}`,
      };
    }
    const manifest = manifestKind.decode(where, content);
    const problem = contradictionToRecord(manifest, record);
    return problem === undefined ? manifest : { kind: 'contradictoryManifest', where, message: problem };
  } catch (error) {
    if (!hasCode(error, 'destination.damaged')) throw error;
    return { kind: 'damagedManifest', where, message: error.message };
  }
}

/**
 * Compares an export manifest with its schedule record. Returns the first difference as text, or undefined if they
 * match.
 */
function contradictionToRecord(manifest: Manifest, record: RunRecord): string | undefined {
  const { fingerprint, complete, totals, export: identity } = manifest;
  const found = { fromMs: identity.fromMs, toMs: identity.toMs, fingerprint, complete };
  const figures = { ...found, rows: totals.rows, bytes: totals.bytes };
  for (const [name, value] of Object.entries(figures)) {
    const expected = record[name as keyof typeof figures];
    if (value !== expected)
      return `${name} of the export manifest is ${value}, but the schedule record of the run has ${expected}`;
  }
  const [first] = contradictionsIn(manifest);
  return first && `the export manifest contradicts itself (${first.kind}, ${first.where})`;
}

/** Returns the time ranges that more than one record covers. `records` must be sorted by their start. */
function overlapsOf(records: readonly RunRecord[]): readonly RunOverlap[] {
  const overlaps: RunOverlap[] = [];
  let longest: RunRecord | undefined;
  for (const record of records) {
    if (longest && record.fromMs < longest.toMs) {
      const toMs = Math.min(record.toMs, longest.toMs);
      overlaps.push({ fromMs: record.fromMs, toMs, runs: [longest.run, record.run] });
    }
    if (!longest || record.toMs > longest.toMs) longest = record;
  }
  return overlaps;
}
