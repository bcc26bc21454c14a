/**
 * The pure decision function of a planned export. It decides which searches start and stop, what the
 * export waits for, and how much is done. The input is the records, the running searches and the limits.
 *
 * Invariants:
 * - A segment has one search at a time. The search ends at the segment's end, or where the segment's last record starts (E3).
 * - Nothing newer than the settled part of time is searched (E11).
 * - Only records show what is done, so another process decides the same.
 *
 * `search-verdict.ts` judges searches, and `work-state.ts` decides when the plan and the manifest are written.
 */
import type { CommitRecord } from '../../destination/commit-record.ts';
import { allSegmentsOf, type Coverage, coverageOf } from '../../destination/coverage.ts';
import type { DigestVerdict } from '../../destination/digest-verdict.ts';
import { totalsOf } from '../../destination/manifest.ts';
import type { ExportPlan, Segment } from '../../destination/plan-object.ts';
import { unprovenOf } from '../../destination/proof-range.ts';
import { longestQueryMs } from '../../service/jobs/missing-job.ts';
import type { RunningSearch, SearchOrder, StopReason } from '../search/search-tools.ts';
import { settlingMs } from '../search/settling.ts';

/** A delay for a segment, valid while its next record ends at `toMs`. */
export interface IntervalDelay {
  readonly segment: number;
  readonly toMs: number;
  /** Monotonic time; undefined if a user must act. */
  readonly untilMs: number | undefined;
  readonly message: string;
}

export interface ExportLimits {
  readonly isPaused: boolean;
  readonly parallelism: number;
  readonly settleDelayMs: number;
  /** Maximum number of rows. No search starts when written rows and those expected from running searches reach it. */
  readonly maxMessages: number | undefined;
  /** Maximum number of scanned bytes. All searching stops when it is reached. */
  readonly maxBytesScanned: number | undefined;
  /** Wall time of the deadline. */
  readonly deadlineMs: number | undefined;
  /** Smallest message limit that the service has shown. */
  readonly smallestLimit: number | undefined;
}

export interface ExportDecideInput<S extends RunningSearch = RunningSearch> {
  readonly plan: ExportPlan;
  readonly records: readonly CommitRecord[];
  /** Verdicts of digests, in order of their rounds. */
  readonly verdicts?: readonly DigestVerdict[];
  /** True if a digest must prove the rows (E6). */
  readonly wantsDigest?: boolean;
  readonly running: readonly S[];
  readonly delays: readonly IntervalDelay[];
  /** Monotonic time before which nothing starts, after a failure that affects the whole export. */
  readonly troubleUntilMs?: number | undefined;
  /** Searches that must be narrower than the remaining of their segment, because a wider search was cut without a complete part. */
  readonly narrowed: readonly SearchOrder[];
  /** Bytes scanned by finished jobs, including unsuccessful ones. */
  readonly scannedBytes: number;
  readonly byReceiptTime: boolean;
  readonly limits: ExportLimits;
  readonly now: ExportMoment;
}

export interface ExportMoment {
  readonly wallMs: number;
  readonly monotonicMs: number;
  /** Time in ms by which the service's clock is behind ours; at least 0. */
  readonly clockBehindMs: number;
}

/** Why nothing starts although work is left. */
export type Wait =
  /** Records at the destination contradict each other. */
  | { readonly kind: 'disorder'; readonly strays: readonly CommitRecord[] }
  | { readonly kind: 'deadline' | 'paused' | 'maxMessages' | 'maxBytesScanned' | 'trouble' }
  /** A user must act on these. `isRest`: no other work is left. */
  | { readonly kind: 'people'; readonly delays: readonly IntervalDelay[]; readonly isRest: boolean }
  /** Wall time. */
  | { readonly kind: 'settling'; readonly untilMs: number }
  | { readonly kind: 'retry'; readonly delays: readonly IntervalDelay[] };

export interface ExportProgress {
  /**
   * Covered share of the export, 0 to 1: the mean over planned segments of the covered share of their time. Segments have about equally
   * many rows.
   */
  readonly coveredRatio: number;
  readonly intervalsDone: number;
  /** Number of intervals as far as known: finished intervals plus one for each unfinished segment. */
  readonly intervalsPlanned: number;
  readonly rows: number;
  readonly bytes: number;
  readonly duplicates: number;
  readonly scannedBytes: number;
}

export interface ExportDecision<S extends RunningSearch = RunningSearch> {
  readonly coverage: Coverage;
  readonly start: readonly SearchOrder[];
  /** Searches to end without a record. */
  readonly stop: readonly { readonly search: S; readonly reason: StopReason }[];
  /** Searches whose jobs will soon expire. Their rows are committed like those of a cut search (E13). */
  readonly endAsCut: readonly S[];
  /** True if all segments are covered. Missing digests come next, then the manifest. */
  readonly isCovered: boolean;
  /** Intervals that a digest must prove when everything is covered, in order of time. */
  readonly unproven: readonly CommitRecord[];
  readonly waitsFor: Wait | undefined;
  readonly progress: ExportProgress;
  /** Time in ms after which this decision may change without other events; infinite if never. */
  readonly requeueAfterMs: number;
}

/** Segment number of delays without a segment: ranges whose digest still differs after the last round. */
export const digestSegment = -1;

/** Maximum duration of a search. The service ends a query after eight hours (3.1), and reading its rows takes time. */
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
  const ready = refusal ? [] : free.filter((segment) => !delayOf(input, segment) && isSettled(input, segment));
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
    progress: progressOf(input, coverage),
    requeueAfterMs: nextChangeMs(input, going, free),
  };
}

/** Returns the reason why nothing may start. */
function refusalOf(
  input: ExportDecideInput,
  { strays, remaining, intervals }: Coverage,
  isUnproven: boolean,
): Wait | undefined {
  const { limits, running } = input;
  if (strays.length > 0) return { kind: 'disorder', strays };
  if (remaining.length === 0 && !isUnproven) return undefined;
  if (isOver(input.limits, input.now.wallMs)) return { kind: 'deadline' };
  if (limits.isPaused) return { kind: 'paused' };
  const written = writtenRows(intervals);
  const found = running.reduce((sum, { messageCount }) => sum + messageCount, 0);
  if (remaining.length > 0 && limits.maxMessages !== undefined && written + found >= limits.maxMessages)
    return { kind: 'maxMessages' };
  if (isScannedOut(input.limits, scannedBytes(input))) return { kind: 'maxBytesScanned' };
  return isInTrouble(input) ? { kind: 'trouble' } : undefined;
}

/**
 * Number of searches that may start before written and expected rows reach `maxMessages`. An unfinished search counts as full. The limit is
 * therefore exceeded by at most one search's rows, whatever the parallelism.
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

/** Maximum number of rows of a search. If the service has reported no limit, earlier searches give an estimate. */
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

/** `endMs`: end of the next record in the search's segment. */
function stopReason(
  input: ExportDecideInput,
  search: RunningSearch,
  endMs: number | undefined,
): StopReason | undefined {
  // Another process has committed a record with this end.
  if (endMs !== search.toMs) return 'Overtaken';
  if (isOver(input.limits, input.now.wallMs)) return 'DeadlineExceeded';
  if (input.limits.isPaused && search.createdAtMs === undefined) return 'Paused';
  return search.isSearching && isScannedOut(input.limits, scannedBytes(input)) ? 'MaxBytesScanned' : undefined;
}

/** Wall time at which a segment may be searched to its end, by the earlier of both clocks (E11). */
function settledAtMs(
  { limits: { settleDelayMs }, now: { clockBehindMs } }: ExportDecideInput,
  { toMs }: Segment,
): number {
  return toMs + settlingMs({ settleDelayMs, clockBehindMs });
}

function isSettled(input: ExportDecideInput, segment: Segment): boolean {
  return settledAtMs(input, segment) <= input.now.wallMs;
}

/** Active delay of the segment's next interval. */
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
  if (forPeople.length > 0) return { kind: 'people', delays: forPeople, isRest: forPeople.length === free.length };
  const untilMs = Math.min(...free.map((segment) => settledAtMs(input, segment)));
  return Number.isFinite(untilMs) ? { kind: 'settling', untilMs } : undefined;
}

/** A user must act where a digest still differs. */
function digestWait({ delays }: ExportDecideInput, unproven: readonly CommitRecord[]): Wait | undefined {
  const delayed = unproven.length === 0 ? [] : delays.filter(({ segment }) => segment === digestSegment);
  return delayed.length === 0 ? undefined : { kind: 'people', delays: delayed, isRest: true };
}

function progressOf(input: ExportDecideInput, { intervals, remaining }: Coverage): ExportProgress {
  const segments = allSegmentsOf(input.plan, input.verdicts);
  const planned = input.plan.boundariesMs.length - 1;
  const left = remaining.reduce((sum, { index, fromMs, toMs }) => sum + (toMs - fromMs) / lengthOf(segments[index]), 0);
  const { rows, bytes, duplicates } = totalsOf(intervals);
  return {
    coveredRatio: remaining.length === 0 ? 1 : Math.max(0, planned - left) / planned,
    intervalsDone: intervals.length,
    intervalsPlanned: intervals.length + remaining.length,
    rows,
    bytes,
    duplicates,
    scannedBytes: scannedBytes(input),
  };
}

function lengthOf(segment: Segment | undefined): number {
  return segment ? segment.toMs - segment.fromMs : Number.POSITIVE_INFINITY;
}

/** Monotonic time at which a job must be ended; infinite if it is being read or does not exist. */
function dueMs({ createdAtMs, isSearching }: RunningSearch): number {
  return createdAtMs === undefined || !isSearching ? Number.POSITIVE_INFINITY : createdAtMs + longestSearchMs;
}

function nextChangeMs(input: ExportDecideInput, going: readonly RunningSearch[], free: readonly Segment[]): number {
  const { now, limits, troubleUntilMs } = input;
  const { wallMs, monotonicMs } = now;
  const delays = [
    ...(troubleUntilMs === undefined ? [] : [troubleUntilMs - monotonicMs]),
    ...(limits.deadlineMs === undefined ? [] : [limits.deadlineMs - wallMs]),
    ...going.map((search) => dueMs(search) - monotonicMs),
    ...free.map((segment) => settledAtMs(input, segment) - wallMs),
    ...free.map((segment) => (delayOf(input, segment)?.untilMs ?? Number.POSITIVE_INFINITY) - monotonicMs),
  ];
  return Math.min(...delays.filter((delayMs) => delayMs > 0), Number.POSITIVE_INFINITY);
}

/** Limit of most services (8). */
export const usualLimit = 100_000;
/** Ratio of the limit that a search should reach, since rows are not evenly distributed. */
const aimedRatio = 0.6;
/** Maximum growth factor: an interval with few rows predicts little. */
const widest = 4;

/**
 * Start of the next search in the rest of a segment by receipt time, where a cut search proves nothing and its interval must be halved (E4).
 * The rows of the interval before give the estimate. Each cut search costs a job, and so does each search that is too small.
 */
export function nextAim(rest: Segment, before: CommitRecord, smallestLimit: number | undefined): number {
  const widthMs = before.toMs - before.fromMs;
  const aimedRows = aimedRatio * (smallestLimit ?? usualLimit);
  const factor = before.written === 0 ? widest : Math.min(widest, aimedRows / before.written);
  const aimMs = rest.toMs - Math.max(1, Math.floor(widthMs * factor));
  return Math.max(rest.fromMs, aimMs);
}
