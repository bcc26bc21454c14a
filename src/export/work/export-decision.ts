/**
 * Decides which searches of an export start and stop, and what the export is waiting for. All functions are pure.
 *
 * Each segment has one search at a time (E3). No search includes times for which messages may still be arriving (E11).
 * Only the commit records at the destination show which work is finished, so all processes agree on the remaining work.
 */
import { type CommitRecord, recordKey } from '../../destination/commit-record.ts';
import { allSegmentsOf, type Coverage, coverageOf } from '../../destination/coverage.ts';
import type { DigestVerdict } from '../../destination/digest-verdict.ts';
import { type ManifestTotals, totalsOf } from '../../destination/manifest.ts';
import type { ExportPlan, Segment } from '../../destination/plan-object.ts';
import { unprovenOf } from '../../destination/proof-range.ts';
import { longestQueryMs } from '../../service/requests/missing-job.ts';
import type { RunningSearch, SearchOrder } from '../search/search-tools.ts';
import { settlingMs } from '../search/settling.ts';
import { segmentsOfWorker, type WorkerIndex } from './worker-segments.ts';

/** Delay before a segment's next search. */
export interface IntervalDelay {
  readonly segment: number;
  readonly toMs: number;
  /** Monotonic time at which the delay ends; undefined if a user must act. */
  readonly untilMs: number | undefined;
  readonly message: string;
}

export interface ExportLimits {
  readonly isPaused: boolean;
  readonly parallelism: number;
  readonly settleDelayMs: number;
  /** Maximum number of rows. No more searches start if the running searches will probably reach this number. */
  readonly maxMessages: number | undefined;
  /** Maximum number of scanned bytes. Running searches stop when it is reached. */
  readonly maxBytesScanned: number | undefined;
  /** Wall-clock time after which no searches start. */
  readonly deadlineMs: number | undefined;
  /** Smallest row count at which the service has cut a search short; undefined if there is none. */
  readonly smallestLimit: number | undefined;
}

export interface ExportDecideInput<S extends RunningSearch = RunningSearch> {
  readonly plan: ExportPlan;
  readonly records: readonly CommitRecord[];
  /** Results of comparing the written rows with the service's counts. */
  readonly verdicts: readonly DigestVerdict[];
  /** True if the written rows must be compared with the service's counts (E6). */
  readonly wantsDigest: boolean;
  readonly running: readonly S[];
  readonly delays: readonly IntervalDelay[];
  /** Monotonic time until which no search starts, because a failure delays the whole export. */
  readonly troubleUntilMs?: number | undefined;
  /**
   * Newer parts of intervals whose searches the service cut short. Each part is searched before the rest of its
   * interval. The part with the latest start comes first.
   */
  readonly narrowed: readonly SearchOrder[];
  /** Bytes scanned by searches that have ended, and by the search jobs of the running step. */
  readonly scannedBytes: number;
  readonly byReceiptTime: boolean;
  readonly limits: ExportLimits;
  /** Index of this process among the export's workers, and the number of workers. */
  readonly worker: WorkerIndex;
  /** Monotonic time until which this worker leaves some segments to the workers that own them. */
  readonly yieldsUntilMs: number;
  /** Monotonic time from which this worker may compare rows with the service's counts in place of the first worker. */
  readonly replacesFirstAtMs: number;
  readonly now: ExportMoment;
}

export interface ExportMoment {
  readonly wallMs: number;
  readonly monotonicMs: number;
  /** Time in ms by which the service's clock is behind logfleet's clock; at least 0. */
  readonly clockBehindMs: number;
}

/** Reason why no search starts, even though part of the time range has not been exported yet. */
export type SearchWait =
  /** Commit records contradict each other. */
  | { readonly kind: 'disorder'; readonly strays: readonly CommitRecord[] }
  | { readonly kind: 'deadline' | 'paused' | 'maxMessages' | 'maxBytesScanned' | 'trouble' }
  /**
   * Some intervals are waiting for a user to act. `isRest` is true if all unfinished intervals are waiting for a user.
   */
  | { readonly kind: 'people'; readonly delays: readonly IntervalDelay[]; readonly isRest: boolean }
  /**
   * All remaining rows are too recent to be searched. The next search starts at the wall-clock time `untilMs` at the
   * earliest.
   */
  | { readonly kind: 'settling'; readonly untilMs: number }
  /** Other workers are probably doing the rest of the work. */
  | { readonly kind: 'workers' }
  | { readonly kind: 'retry'; readonly delays: readonly IntervalDelay[] };

export interface ExportProgress extends Pick<ManifestTotals, 'rows' | 'bytes' | 'encodedBytes' | 'duplicates'> {
  /** Finished fraction of the export, from 0 to 1. Each planned segment has the same weight. */
  readonly coveredRatio: number;
  /**
   * Fraction of the searches that have ended, from 0 to 1. In contrast, `coveredRatio` stays below 1 until the written
   * rows have been compared with the service's counts.
   */
  readonly searchesDone: number;
  readonly intervalsDone: number;
  /** Expected number of intervals: committed intervals plus unfinished segments. */
  readonly intervalsPlanned: number;
  readonly scannedBytes: number;
}

export interface ExportDecision<S extends RunningSearch = RunningSearch> {
  readonly coverage: Coverage;
  readonly start: readonly SearchOrder[];
  /** Running searches that must stop without writing a commit record. */
  readonly stop: readonly S[];
  /**
   * Searches that have almost reached the service's maximum duration. These searches are ended now, and the rows found
   * so far are committed (E13).
   */
  readonly endAsCut: readonly S[];
  /** True if commit records cover the whole time range. */
  readonly isCovered: boolean;
  /**
   * Intervals whose rows must still be compared with the service's counts; empty until the whole time range has been
   * exported.
   */
  readonly unproven: readonly CommitRecord[];
  /** True if written rows must still be compared with the service's counts, either now or after the last search. */
  readonly isDigestLeft: boolean;
  readonly waitsFor: SearchWait | undefined;
  readonly progress: ExportProgress;
  /**
   * Time in ms after which the decision may change even if no event occurs. Infinity if only an event can change the
   * decision.
   */
  readonly requeueAfterMs: number;
}

/**
 * Used instead of a segment number in the delay of a digest (the comparison with the service's counts), because a
 * digest covers several segments.
 */
export const digestSegment = -1;

/** Maximum duration of a search in ms: the service's eight hours, minus 20 minutes for reading the rows. */
const longestSearchMs = longestQueryMs - 20 * 60_000;

export function decideExport<S extends RunningSearch>(input: ExportDecideInput<S>): ExportDecision<S> {
  const { plan, records, running, now } = input;
  const coverage = coverageOf(plan, records, input.verdicts);
  const isCovered = coverage.remaining.length === 0 && coverage.strays.length === 0;
  const unproven = isCovered && input.wantsDigest ? unprovenOf(coverage.intervals, input.verdicts) : [];
  const isDigestLeft = input.wantsDigest && (!isCovered || unproven.length > 0);
  const stop = running.filter((search) => mustStop(input, search, coverage));
  const going = running.filter((search) => !stop.includes(search));
  const free = coverage.remaining.filter(({ index }) => !going.some(({ segment }) => segment === index));
  const refusal = refusalOf(input, coverage, unproven.length > 0);
  const habits = { yieldsToOwners: now.monotonicMs < input.yieldsUntilMs, parallelism: input.limits.parallelism };
  const turns = refusal ? [] : segmentsOfWorker(coverage.remaining, plan, input.worker, habits);
  const areFree = new Set(free);
  const delays = currentDelays(input);
  const ready = turns.filter(
    (segment) => areFree.has(segment) && !delayOf(delays, segment) && isSettled(input, segment),
  );
  const max = Math.max(0, Math.min(input.limits.parallelism - going.length, searchesLeft(input, going, coverage)));
  const start = ready.slice(0, max).map((segment) => orderOf(input, coverage, segment));
  const isIdle = start.length + going.length === 0;
  return {
    coverage,
    start,
    stop,
    endAsCut: going.filter((search) => dueMs(search) <= now.monotonicMs),
    ...{ isCovered, unproven, isDigestLeft },
    waitsFor: refusal ?? (isIdle ? (waitOf(input, free, delays) ?? digestWait(input, unproven)) : undefined),
    progress: plannedProgress(input, coverage, isDigestLeft),
    requeueAfterMs: nextChangeMs(input, going, free, delays),
  };
}

function isOneOfSeveral({ worker }: ExportDecideInput): boolean {
  return worker.workers > 1;
}

/** Returns the reason why no search may start, such as a pause, or undefined if searches may start. */
function refusalOf(
  input: ExportDecideInput,
  { strays, remaining, intervals }: Coverage,
  isUnproven: boolean,
): SearchWait | undefined {
  const { limits, running } = input;
  if (strays.length > 0) return { kind: 'disorder', strays };
  if (remaining.length === 0 && !isUnproven) return undefined;
  const halt = haltOf(limits, input.now.wallMs, scannedBytes(input));
  if (halt) return halt;
  const written = writtenRows(intervals);
  const found = running.reduce((sum, { messageCount }) => sum + messageCount, 0);
  if (remaining.length > 0 && limits.maxMessages !== undefined && written + found >= limits.maxMessages)
    return { kind: 'maxMessages' };
  const { troubleUntilMs = 0, now } = input;
  return troubleUntilMs > now.monotonicMs ? { kind: 'trouble' } : undefined;
}

/**
 * Returns the maximum number of searches that may start without exceeding `maxMessages` by more than the rows of one
 * search.
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
 * Returns the maximum number of rows that one search can return. If the service's limit is unknown, returns an
 * estimate.
 */
function fullSearchRows({ limits: { smallestLimit }, records, running }: ExportDecideInput): number {
  if (smallestLimit !== undefined) return smallestLimit;
  const found = running.reduce((max, { messageCount }) => Math.max(max, messageCount), usualLimit);
  return records.reduce((max, { received }) => Math.max(max, received), found);
}

function writtenRows(records: readonly CommitRecord[]): number {
  return records.reduce((sum, { written }) => sum + written, 0);
}

/** Returns the reason why neither searches nor planning may start, or undefined if they may start. */
export function haltOf(
  limits: Omit<ExportLimits, 'smallestLimit'>,
  wallMs: number,
  scanned: number,
): SearchWait | undefined {
  if (isOver(limits, wallMs)) return { kind: 'deadline' };
  if (limits.isPaused) return { kind: 'paused' };
  return isScanLimitReached(limits, scanned) ? { kind: 'maxBytesScanned' } : undefined;
}

export function isOver({ deadlineMs }: Pick<ExportLimits, 'deadlineMs'>, wallMs: number): boolean {
  return deadlineMs !== undefined && wallMs >= deadlineMs;
}

export function isScanLimitReached(
  { maxBytesScanned }: Pick<ExportLimits, 'maxBytesScanned'>,
  scanned: number,
): boolean {
  return maxBytesScanned !== undefined && scanned >= maxBytesScanned;
}

function scannedBytes({ running, scannedBytes: before }: ExportDecideInput): number {
  return running.reduce((sum, search) => sum + search.scannedBytes, before);
}

/** Reports whether a running search must stop without writing a commit record. */
function mustStop(input: ExportDecideInput, search: RunningSearch, { remaining }: Coverage): boolean {
  const { limits, now } = input;
  // Another process has committed this interval.
  if (!remaining.some(({ index, toMs }) => index === search.segment && toMs === search.toMs)) return true;
  if (isOver(limits, now.wallMs)) return true;
  // A pause stops only searches whose search job has not been created yet.
  if (limits.isPaused && search.createdAtMs === undefined) return true;
  return search.isSearching && isScanLimitReached(limits, scannedBytes(input));
}

/** Returns the wall-clock time at which all rows of the segment are old enough to be searched (E11). */
function settledAtMs(
  { limits: { settleDelayMs }, now: { clockBehindMs } }: ExportDecideInput,
  { toMs }: Segment,
): number {
  return toMs + settlingMs(settleDelayMs, clockBehindMs);
}

function isSettled(input: ExportDecideInput, segment: Segment): boolean {
  return settledAtMs(input, segment) <= input.now.wallMs;
}

/** Delays that have not ended. The key of a delay is the `recordKey` of its interval. */
type CurrentDelays = ReadonlyMap<string, IntervalDelay>;

/** Returns the delays that have not ended. If an interval has several delays, the first one in `delays` counts. */
function currentDelays({ delays, now }: ExportDecideInput): CurrentDelays {
  const current = delays.filter(({ untilMs }) => untilMs === undefined || untilMs > now.monotonicMs);
  return new Map(current.reverse().map((delay) => [recordKey(delay), delay]));
}

/** Returns the current delay of a segment, or undefined if the segment may be searched now. */
function delayOf(delays: CurrentDelays, { index, toMs }: Segment): IntervalDelay | undefined {
  return delays.get(recordKey({ segment: index, toMs }));
}

function orderOf(input: ExportDecideInput, { intervals }: Coverage, segment: Segment): SearchOrder {
  const { index, fromMs, toMs } = segment;
  const narrowed = input.narrowed.find((order) => order.segment === index && order.toMs === toMs);
  if (narrowed) return { segment: index, fromMs: Math.max(fromMs, narrowed.fromMs), toMs };
  const before = intervals.find((interval) => interval.segment === index);
  if (!input.byReceiptTime || !before) return { segment: index, fromMs, toMs };
  return { segment: index, fromMs: nextRangeStartMs(segment, before, input.limits.smallestLimit), toMs };
}

function waitOf(input: ExportDecideInput, free: readonly Segment[], delays: CurrentDelays): SearchWait | undefined {
  const delayed = free.flatMap((segment) => delayOf(delays, segment) ?? []);
  const forRetry = delayed.filter(({ untilMs }) => untilMs !== undefined);
  if (forRetry.length > 0) return { kind: 'retry', delays: forRetry };
  const isLeftToOthers = (segment: Segment) => isSettled(input, segment) && !delayOf(delays, segment);
  if (isOneOfSeveral(input) && free.some(isLeftToOthers)) return { kind: 'workers' };
  if (delayed.length > 0) return { kind: 'people', delays: delayed, isRest: delayed.length === free.length };
  const untilMs = least(free.map((segment) => settledAtMs(input, segment)));
  return Number.isFinite(untilMs) ? { kind: 'settling', untilMs } : undefined;
}

/**
 * Returns the reason why this process must not compare the written rows with the service's counts: a user must act
 * first, or another worker makes the comparison. Returns undefined if this process may make the comparison.
 */
function digestWait(input: ExportDecideInput, unproven: readonly CommitRecord[]): SearchWait | undefined {
  if (unproven.length === 0) return undefined;
  const delayed = input.delays.filter(({ segment }) => segment === digestSegment);
  if (delayed.length > 0) return { kind: 'people', delays: delayed, isRest: true };
  return input.now.monotonicMs < input.replacesFirstAtMs ? { kind: 'workers' } : undefined;
}

/** Maximum progress (a fraction) that is shown until the written rows have been compared with the service's counts. */
const searchedRatio = 0.99;

function plannedProgress(
  input: ExportDecideInput,
  { intervals, remaining }: Coverage,
  isDigestLeft: boolean,
): ExportProgress {
  const segments = allSegmentsOf(input.plan, input.verdicts);
  const planned = input.plan.boundariesMs.length - 1;
  const left = remaining.reduce((sum, { index, fromMs, toMs }) => sum + (toMs - fromMs) / lengthOf(segments[index]), 0);
  const max = isDigestLeft ? searchedRatio : 1;
  const searchesDone = remaining.length === 0 ? 1 : Math.max(0, planned - left) / planned;
  const coveredRatio = Math.min(max, searchesDone);
  return { ...progressOf(intervals, searchesDone, remaining.length, scannedBytes(input)), coveredRatio };
}

/** Returns the progress of an export, computed from its committed intervals. */
export function progressOf(
  intervals: readonly CommitRecord[],
  searchesDone: number,
  openSegments: number,
  scannedBytes: number,
): ExportProgress {
  return {
    ...totalsOf(intervals),
    ...{ searchesDone, scannedBytes },
    coveredRatio: searchesDone,
    intervalsDone: intervals.length,
    intervalsPlanned: intervals.length + openSegments,
  };
}

function lengthOf(segment: Segment | undefined): number {
  return segment ? segment.toMs - segment.fromMs : Number.POSITIVE_INFINITY;
}

/**
 * Returns the monotonic time at which logfleet must end the search job. Returns Infinity if no search job is running.
 */
function dueMs({ createdAtMs, isSearching }: RunningSearch): number {
  return createdAtMs === undefined || !isSearching ? Number.POSITIVE_INFINITY : createdAtMs + longestSearchMs;
}

function nextChangeMs(
  input: ExportDecideInput,
  going: readonly RunningSearch[],
  free: readonly Segment[],
  current: CurrentDelays,
): number {
  const { now, limits, troubleUntilMs } = input;
  const { wallMs, monotonicMs } = now;
  const delays = [
    ...(troubleUntilMs === undefined ? [] : [troubleUntilMs - monotonicMs]),
    ...(limits.deadlineMs === undefined ? [] : [limits.deadlineMs - wallMs]),
    ...(isOneOfSeveral(input) ? [input.yieldsUntilMs - monotonicMs, input.replacesFirstAtMs - monotonicMs] : []),
    ...going.map((search) => dueMs(search) - monotonicMs),
    ...free.map((segment) => settledAtMs(input, segment) - wallMs),
    ...free.map((segment) => (delayOf(current, segment)?.untilMs ?? Number.POSITIVE_INFINITY) - monotonicMs),
  ];
  return least(delays.filter((delayMs) => delayMs > 0));
}

/** Returns the smallest number in a list. Unlike `Math.min(...list)`, this function accepts a list of any length. */
function least(numbers: readonly number[]): number {
  return numbers.reduce((min, number) => Math.min(min, number), Number.POSITIVE_INFINITY);
}

/** Maximum number of messages that most services return for one search (section 8 of docs/service.md). */
export const usualLimit = 100_000;
/** Number of rows that the next search by receipt time should find, as a fraction of the message limit. */
const aimedRatio = 0.6;
/** Maximum length of the time range of the next search, as a multiple of the length of the previous interval. */
const widest = 4;

/**
 * Returns the start of the time range for the next search by receipt time. It is chosen based on the number of rows in
 * the previous interval.
 */
export function nextRangeStartMs(rest: Segment, before: CommitRecord, smallestLimit: number | undefined): number {
  const widthMs = before.toMs - before.fromMs;
  const aimedRows = aimedRatio * (smallestLimit ?? usualLimit);
  const factor = before.written === 0 ? widest : Math.min(widest, aimedRows / before.written);
  const aimMs = rest.toMs - Math.max(1, Math.floor(widthMs * factor));
  return Math.max(rest.fromMs, aimMs);
}
