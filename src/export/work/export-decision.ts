/**
 * The pure decision function of an export that has a plan. It decides which searches start and stop, what the export waits for, and how
 * much is done. Its input is the commit records, the running searches and the limits.
 *
 * Invariants:
 * - A segment has one search at a time. The search ends at the segment's end, or where the segment's last record starts (E3).
 * - No search includes time that is too recent for all rows to have arrived (E11).
 * - Only commit records show what is done, so every process decides the same.
 *
 * `search-verdict.ts` judges finished searches, and `next-task.ts` decides when the plan and the manifest are written.
 */
import type { CommitRecord } from '../../destination/commit-record.ts';
import { allSegmentsOf, type Coverage, coverageOf } from '../../destination/coverage.ts';
import type { DigestVerdict } from '../../destination/digest-verdict.ts';
import { totalsOf } from '../../destination/manifest.ts';
import type { ExportPlan, Segment } from '../../destination/plan-object.ts';
import { unprovenOf } from '../../destination/proof-range.ts';
import { longestQueryMs } from '../../service/requests/missing-job.ts';
import type { RunningSearch, SearchOrder, StopReason } from '../search/search-tools.ts';
import { settlingMs } from '../search/settling.ts';
import { onlyWorker, segmentsOfWorker, type WorkerPart } from './worker-part.ts';

/**
 * Delay before an interval of a segment is searched again. The delay applies as long as the next commit record of the
 * segment would end at `toMs`.
 */
export interface IntervalDelay {
  readonly segment: number;
  readonly toMs: number;
  /** Monotonic time at which the delay ends; undefined if it lasts until a user acts. */
  readonly untilMs: number | undefined;
  readonly message: string;
}

export interface ExportLimits {
  readonly isPaused: boolean;
  readonly parallelism: number;
  readonly settleDelayMs: number;
  /**
   * Maximum number of rows of the export. No search starts once the written rows and the rows expected from running searches reach the
   * maximum.
   */
  readonly maxMessages: number | undefined;
  /** Maximum number of bytes that searches may scan. All searches end when this maximum is reached. */
  readonly maxBytesScanned: number | undefined;
  /** Wall time after which the export starts no more searches. */
  readonly deadlineMs: number | undefined;
  /** Smallest message limit at which the service has cut a search short; undefined if it has cut none. */
  readonly smallestLimit: number | undefined;
}

export interface ExportDecideInput<S extends RunningSearch = RunningSearch> {
  readonly plan: ExportPlan;
  readonly records: readonly CommitRecord[];
  /** Results of the digest comparisons of this export, in order of their rounds. */
  readonly verdicts?: readonly DigestVerdict[];
  /** True if a digest by the service must prove the written rows (E6). */
  readonly wantsDigest?: boolean;
  readonly running: readonly S[];
  readonly delays: readonly IntervalDelay[];
  /** Monotonic time before which no search starts, set after a failure that affects the whole export. */
  readonly troubleUntilMs?: number | undefined;
  /**
   * Searches that must cover less time than the rest of their segment. A search of the whole rest was cut by the message limit, and no part
   * of it was complete.
   */
  readonly narrowed: readonly SearchOrder[];
  /** Bytes scanned by search jobs that have ended, including jobs without a result. */
  readonly scannedBytes: number;
  readonly byReceiptTime: boolean;
  readonly limits: ExportLimits;
  /** Part of the export that this process works on first; the whole export by default. */
  readonly part?: WorkerPart;
  /** Monotonic time until which this process leaves some work to the other workers of the export. */
  readonly patientUntilMs?: number;
  readonly now: ExportMoment;
}

export interface ExportMoment {
  readonly wallMs: number;
  readonly monotonicMs: number;
  /** Time in ms by which the service's clock is behind the clock of logfleet; at least 0. */
  readonly clockBehindMs: number;
}

/** Reason why the export starts no search although some of its intervals are not yet searched. */
export type Wait =
  /** Commit records at the destination contradict each other. */
  | { readonly kind: 'disorder'; readonly strays: readonly CommitRecord[] }
  | { readonly kind: 'deadline' | 'paused' | 'maxMessages' | 'maxBytesScanned' | 'trouble' }
  /** Some intervals are delayed until a user acts. `isRest` is true if the export has no other work left. */
  | { readonly kind: 'people'; readonly delays: readonly IntervalDelay[]; readonly isRest: boolean }
  /** The next range is too new to be searched until the wall time `untilMs`. */
  | { readonly kind: 'settling'; readonly untilMs: number }
  /** Other workers probably do the rest of the work. */
  | { readonly kind: 'workers' }
  | { readonly kind: 'retry'; readonly delays: readonly IntervalDelay[] };

export interface ExportProgress {
  /**
   * Ratio of the export that is done, 0 to 1: the mean, over all planned segments, of the ratio of each segment's time
   * that commit records cover. It approximates the ratio of rows, because segments have about equally many rows.
   */
  readonly coveredRatio: number;
  readonly intervalsDone: number;
  /** Expected number of intervals: the finished intervals, plus one for each unfinished segment. */
  readonly intervalsPlanned: number;
  readonly rows: number;
  readonly bytes: number;
  readonly duplicates: number;
  readonly scannedBytes: number;
}

export interface ExportDecision<S extends RunningSearch = RunningSearch> {
  readonly coverage: Coverage;
  readonly start: readonly SearchOrder[];
  /** Running searches that the caller must end without a commit record, with the reason for each. */
  readonly stop: readonly { readonly search: S; readonly reason: StopReason }[];
  /**
   * Searches whose jobs the service will soon end. Their rows are committed like those of a search that the message
   * limit cut (E13).
   */
  readonly endAsCut: readonly S[];
  /**
   * True if commit records cover all segments of the export. The remaining steps are the missing digests, then the
   * manifest.
   */
  readonly isCovered: boolean;
  /** Intervals whose rows a digest must still prove once commit records cover the whole range, in order of time. */
  readonly unproven: readonly CommitRecord[];
  readonly waitsFor: Wait | undefined;
  readonly progress: ExportProgress;
  /** Time in ms after which this decision may change without an event; infinite if it cannot. */
  readonly requeueAfterMs: number;
}

/** Segment number of a delay that concerns a range whose digest still differs after the last round, and therefore no single segment. */
export const digestSegment = -1;

/**
 * Maximum duration in ms of a search. The service ends a query after eight hours (3.1); the last 20 minutes are
 * reserved for reading the rows.
 */
const longestSearchMs = longestQueryMs - 20 * 60_000;

export function decide<S extends RunningSearch>(input: ExportDecideInput<S>): ExportDecision<S> {
  const { plan, records, running, now } = input;
  const coverage = coverageOf(plan, records, input.verdicts);
  const isCovered = coverage.remaining.length === 0 && coverage.strays.length === 0;
  const unproven = isCovered && input.wantsDigest ? unprovenOf(coverage.intervals, input.verdicts ?? []) : [];
  const stop = stopsOf(input, coverage);
  const going = running.filter((search) => !stop.some((stopped) => stopped.search === search));
  const free = coverage.remaining.filter(({ index }) => !going.some(({ segment }) => segment === index));
  const refusal = refusalOf(input, coverage, unproven.length > 0);
  const turns = refusal
    ? []
    : segmentsOfWorker(coverage.remaining, plan, input.part ?? onlyWorker, {
        isPatient: isPatient(input),
        parallelism: input.limits.parallelism,
      });
  const ready = turns.filter(
    (segment) => free.includes(segment) && !delayOf(input, segment) && isSettled(input, segment),
  );
  const most = Math.max(0, Math.min(input.limits.parallelism - going.length, searchesLeft(input, going, coverage)));
  const start = ready.slice(0, most).map((segment) => orderOf(input, coverage, segment));
  const isIdle = start.length + going.length === 0;
  return {
    coverage,
    start,
    stop,
    endAsCut: going.filter((search) => dueMs(search) <= now.monotonicMs),
    ...{ isCovered, unproven },
    waitsFor: refusal ?? (isIdle ? (waitOf(input, free) ?? digestWait(input, unproven)) : undefined),
    progress: plannedProgress(input, coverage),
    requeueAfterMs: nextChangeMs(input, going, free),
  };
}

function isOneOfSeveral({ part = onlyWorker }: ExportDecideInput): boolean {
  return part.workers > 1;
}

/** Returns whether this process still leaves some work to the other workers of the export. */
function isPatient({ patientUntilMs = 0, now }: ExportDecideInput): boolean {
  return now.monotonicMs < patientUntilMs;
}

/** Returns the reason why the export may start no search, such as a limit or a pause; undefined if searches may start. */
function refusalOf(
  input: ExportDecideInput,
  { strays, remaining, intervals }: Coverage,
  isUnproven: boolean,
): Wait | undefined {
  const { limits, running } = input;
  if (strays.length > 0) return { kind: 'disorder', strays };
  if (remaining.length === 0 && !isUnproven) return undefined;
  const halt = haltOf(limits, input.now.wallMs, scannedBytes(input));
  if (halt) return halt;
  const written = writtenRows(intervals);
  const found = running.reduce((sum, { messageCount }) => sum + messageCount, 0);
  if (remaining.length > 0 && limits.maxMessages !== undefined && written + found >= limits.maxMessages)
    return { kind: 'maxMessages' };
  return isInTrouble(input) ? { kind: 'trouble' } : undefined;
}

/**
 * Number of searches that may start before written and expected rows reach `maxMessages`. An unfinished search counts as if it reached the
 * message limit. The export therefore exceeds `maxMessages` by at most one search's rows, whatever the parallelism.
 */
function searchesLeft(input: ExportDecideInput, going: readonly RunningSearch[], { intervals }: Coverage): number {
  const { maxMessages } = input.limits;
  if (maxMessages === undefined) return Number.POSITIVE_INFINITY;
  const fullRows = fullSearchRows(input);
  const expected = going.reduce(
    (sum, { isSearching, messageCount }) => sum + Math.max(messageCount, isSearching ? fullRows : 0),
    writtenRows(intervals),
  );
  return Math.ceil((maxMessages - expected) / fullRows);
}

/**
 * Maximum number of rows that one search returns. If no search has shown the service's message limit yet, the maximum is estimated from
 * earlier searches.
 */
function fullSearchRows({ limits: { smallestLimit }, records, running }: ExportDecideInput): number {
  if (smallestLimit !== undefined) return smallestLimit;
  const found = running.reduce((most, { messageCount }) => Math.max(most, messageCount), usualLimit);
  return records.reduce((most, { received }) => Math.max(most, received), found);
}

function writtenRows(records: readonly CommitRecord[]): number {
  return records.reduce((sum, { written }) => sum + written, 0);
}

function isInTrouble({ troubleUntilMs, now }: ExportDecideInput): boolean {
  return troubleUntilMs !== undefined && troubleUntilMs > now.monotonicMs;
}

/** Returns the reason why neither a search nor the planning may start, such as a pause; undefined if they may start. */
export function haltOf(limits: Omit<ExportLimits, 'smallestLimit'>, wallMs: number, scanned: number): Wait | undefined {
  if (isOver(limits, wallMs)) return { kind: 'deadline' };
  if (limits.isPaused) return { kind: 'paused' };
  return isScannedOut(limits, scanned) ? { kind: 'maxBytesScanned' } : undefined;
}

/** Returns whether the export's deadline has passed. */
export function isOver({ deadlineMs }: Pick<ExportLimits, 'deadlineMs'>, wallMs: number): boolean {
  return deadlineMs !== undefined && wallMs >= deadlineMs;
}

/** Returns whether the limit of scanned bytes is reached. */
export function isScannedOut({ maxBytesScanned }: Pick<ExportLimits, 'maxBytesScanned'>, scanned: number): boolean {
  return maxBytesScanned !== undefined && scanned >= maxBytesScanned;
}

function scannedBytes({ running, scannedBytes: before }: ExportDecideInput): number {
  return running.reduce((sum, search) => sum + search.scannedBytes, before);
}

function stopsOf<S extends RunningSearch>(
  input: ExportDecideInput<S>,
  { remaining }: Coverage,
): ExportDecision<S>['stop'] {
  const ends = new Map(remaining.map(({ index, toMs }) => [index, toMs]));
  return input.running.flatMap((search) => {
    const reason = stopReason(input, search, ends.get(search.segment));
    return reason === undefined ? [] : [{ search, reason }];
  });
}

/**
 * Returns why a running search must stop, or undefined if the search may continue. `endMs` is the time at which the segment's next commit
 * record must end.
 */
function stopReason(
  input: ExportDecideInput,
  search: RunningSearch,
  endMs: number | undefined,
): StopReason | undefined {
  // Another process has committed a record that ends where this search ends, so this search is no longer needed.
  if (endMs !== search.toMs) return 'Overtaken';
  if (isOver(input.limits, input.now.wallMs)) return 'DeadlineExceeded';
  if (input.limits.isPaused && search.createdAtMs === undefined) return 'Paused';
  return search.isSearching && isScannedOut(input.limits, scannedBytes(input)) ? 'MaxBytesScanned' : undefined;
}

/**
 * Wall time at which the whole segment is old enough to be searched. If the clocks of service and logfleet differ, the clock that shows the
 * earlier time decides (E11).
 */
function settledAtMs(
  { limits: { settleDelayMs }, now: { clockBehindMs } }: ExportDecideInput,
  { toMs }: Segment,
): number {
  return toMs + settlingMs({ settleDelayMs, clockBehindMs });
}

function isSettled(input: ExportDecideInput, segment: Segment): boolean {
  return settledAtMs(input, segment) <= input.now.wallMs;
}

/** Delay that currently applies to the next interval of a segment. */
function delayOf({ delays, now }: ExportDecideInput, { index, toMs }: Segment): IntervalDelay | undefined {
  return delays.find((delay) => {
    if (delay.segment !== index || delay.toMs !== toMs) return false;
    return delay.untilMs === undefined || delay.untilMs > now.monotonicMs;
  });
}

function orderOf(input: ExportDecideInput, { intervals }: Coverage, segment: Segment): SearchOrder {
  const { index, fromMs, toMs } = segment;
  const narrowed = input.narrowed.find((order) => order.segment === index && order.toMs === toMs);
  if (narrowed) return { segment: index, fromMs: Math.max(fromMs, narrowed.fromMs), toMs };
  const before = intervals.find((interval) => interval.segment === index);
  if (!input.byReceiptTime || !before) return { segment: index, fromMs, toMs };
  return { segment: index, fromMs: nextAim(segment, before, input.limits.smallestLimit), toMs };
}

function waitOf(input: ExportDecideInput, free: readonly Segment[]): Wait | undefined {
  const delayed = free.flatMap((segment) => delayOf(input, segment) ?? []);
  const forPeople = delayed.filter(({ untilMs }) => untilMs === undefined);
  if (delayed.length > forPeople.length)
    return { kind: 'retry', delays: delayed.filter((delay) => !forPeople.includes(delay)) };
  const isLeftToOthers = (segment: Segment) => isSettled(input, segment) && !delayOf(input, segment);
  if (isOneOfSeveral(input) && free.some(isLeftToOthers)) return { kind: 'workers' };
  if (forPeople.length > 0) return { kind: 'people', delays: forPeople, isRest: forPeople.length === free.length };
  const untilMs = Math.min(...free.map((segment) => settledAtMs(input, segment)));
  return Number.isFinite(untilMs) ? { kind: 'settling', untilMs } : undefined;
}

/**
 * Returns a wait for a user if the digest of an interval still differs from its rows after the last round, or a wait for the first worker,
 * which requests the digest.
 */
function digestWait(input: ExportDecideInput, unproven: readonly CommitRecord[]): Wait | undefined {
  if (unproven.length === 0) return undefined;
  const delayed = input.delays.filter(({ segment }) => segment === digestSegment);
  if (delayed.length > 0) return { kind: 'people', delays: delayed, isRest: true };
  return input.part?.index && isPatient(input) ? { kind: 'workers' } : undefined;
}

function plannedProgress(input: ExportDecideInput, { intervals, remaining }: Coverage): ExportProgress {
  const segments = allSegmentsOf(input.plan, input.verdicts);
  const planned = input.plan.boundariesMs.length - 1;
  const left = remaining.reduce((sum, { index, fromMs, toMs }) => sum + (toMs - fromMs) / lengthOf(segments[index]), 0);
  const coveredRatio = remaining.length === 0 ? 1 : Math.max(0, planned - left) / planned;
  return progressOf(intervals, coveredRatio, remaining.length, scannedBytes(input));
}

/** Progress of an export with these committed intervals. `openSegments` is the number of unfinished segments. */
export function progressOf(
  intervals: readonly CommitRecord[],
  coveredRatio: number,
  openSegments: number,
  scannedBytes: number,
): ExportProgress {
  const { rows, bytes, duplicates } = totalsOf(intervals);
  const intervalsPlanned = intervals.length + openSegments;
  return { coveredRatio, intervalsDone: intervals.length, intervalsPlanned, rows, bytes, duplicates, scannedBytes };
}

function lengthOf(segment: Segment | undefined): number {
  return segment ? segment.toMs - segment.fromMs : Number.POSITIVE_INFINITY;
}

/** Monotonic time at which a search job must be ended; infinite if its rows are already being read, or if there is no job. */
function dueMs({ createdAtMs, isSearching }: RunningSearch): number {
  return createdAtMs === undefined || !isSearching ? Number.POSITIVE_INFINITY : createdAtMs + longestSearchMs;
}

function nextChangeMs(input: ExportDecideInput, going: readonly RunningSearch[], free: readonly Segment[]): number {
  const { now, limits, troubleUntilMs } = input;
  const { wallMs, monotonicMs } = now;
  const delays = [
    ...(troubleUntilMs === undefined ? [] : [troubleUntilMs - monotonicMs]),
    ...(limits.deadlineMs === undefined ? [] : [limits.deadlineMs - wallMs]),
    ...(isOneOfSeveral(input) ? [(input.patientUntilMs ?? 0) - monotonicMs] : []),
    ...going.map((search) => dueMs(search) - monotonicMs),
    ...free.map((segment) => settledAtMs(input, segment) - wallMs),
    ...free.map((segment) => (delayOf(input, segment)?.untilMs ?? Number.POSITIVE_INFINITY) - monotonicMs),
  ];
  return Math.min(...delays.filter((delayMs) => delayMs > 0), Number.POSITIVE_INFINITY);
}

/** Message limit of most services (8). */
export const usualLimit = 100_000;
/**
 * Ratio of the message limit up to which the next search is expected to find rows. It is below 1, because rows are not evenly distributed
 * over time.
 */
const aimedRatio = 0.6;
/**
 * Maximum length of the next search, as a multiple of the length of the previous interval. An interval with few rows says little about the
 * density of the next one.
 */
const widest = 4;

/**
 * Start of the next search in the rest of a segment by receipt time, estimated from the rows of the previous interval. An estimate that is
 * too large costs jobs, because a search by receipt time proves nothing if the message limit cuts it, and its interval must be halved (E4).
 * An estimate that is too small costs more searches.
 */
export function nextAim(rest: Segment, before: CommitRecord, smallestLimit: number | undefined): number {
  const widthMs = before.toMs - before.fromMs;
  const aimedRows = aimedRatio * (smallestLimit ?? usualLimit);
  const factor = before.written === 0 ? widest : Math.min(widest, aimedRows / before.written);
  const aimMs = rest.toMs - Math.max(1, Math.floor(widthMs * factor));
  return Math.max(rest.fromMs, aimMs);
}
