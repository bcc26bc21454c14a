/**
 * The pure function of an export that has its plan: from what stands at the destination, what runs and what it may use comes what to
 * search next, what to end, what it waits for, and how far it is.
 *
 * Invariants: a segment has one search at a time, and that begins at the segment's end or where its last record does (E3); nothing
 * newer than the settled part of time is searched (E11); only records say what is done, so that a process that knows nothing else
 * decides the same.
 *
 * Leaves to others: what came of a search (`proof.ts`), writing the manifest once everything is covered, and the plan.
 */
import type { CommitRecord } from '../destination/commit-record.ts';
import { allSegmentsOf, type Coverage, coverageOf } from '../destination/coverage.ts';
import type { DigestVerdict } from '../destination/digest-verdict.ts';
import { totalsOf } from '../destination/manifest.ts';
import type { ExportPlan, Segment } from '../destination/plan-object.ts';
import { unprovenOf } from '../destination/proof-range.ts';
import { longestQueryMs } from '../service/missing-job.ts';
import { nextAim, usualLimit } from './next-aim.ts';
import { settlingMs } from './settling.ts';

/** What to search: `[fromMs, toMs)` of a segment, `toMs` being where its next record ends. */
export interface SearchOrder {
  readonly segment: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** One whose job is to be created, runs or is read. */
export interface RunningSearch extends SearchOrder {
  /** When its job was created, on the monotonic clock; undefined before. */
  readonly createdAtMs: number | undefined;
  /** The job may find and scan more. */
  readonly isSearching: boolean;
  readonly messageCount: number;
  readonly scannedBytes: number;
}

/** A segment at which nothing starts, as long as its next record ends at `toMs`. */
export interface Hold {
  readonly segment: number;
  readonly toMs: number;
  /** On the monotonic clock; undefined where a person has to do something. */
  readonly untilMs: number | undefined;
  readonly message: string;
}

export interface ExportLimits {
  readonly isPaused: boolean;
  readonly parallelism: number;
  readonly settleDelayMs: number;
  /** Nothing starts once so many are written, or may be by the searches that run. */
  readonly maxMessages: number | undefined;
  /** Nothing goes on searching once so many are scanned. */
  readonly maxBytesScanned: number | undefined;
  /** On the wall clock. */
  readonly deadlineMs: number | undefined;
  /** The smallest message limit that the service has shown. */
  readonly smallestLimit: number | undefined;
}

export interface DecideInput {
  readonly plan: ExportPlan;
  readonly records: readonly CommitRecord[];
  /** What digests have shown, in the order of their rounds. */
  readonly verdicts?: readonly DigestVerdict[];
  /** Whether a digest is to prove what the searches have found (E6). */
  readonly wantsDigest?: boolean;
  readonly running: readonly RunningSearch[];
  readonly holds: readonly Hold[];
  /** Nothing at all starts before that, on the monotonic clock: something failed that concerns everything. */
  readonly troubleUntilMs?: number | undefined;
  /** Searches that are to be narrower than what is left of their segments, since that was cut and nothing of it whole. */
  readonly narrowed: readonly SearchOrder[];
  /** By jobs that are over, those whose work was in vain too. */
  readonly scannedBytes: number;
  readonly byReceiptTime: boolean;
  readonly limits: ExportLimits;
  readonly now: ExportMoment;
}

export interface ExportMoment {
  readonly wallMs: number;
  readonly monotonicMs: number;
  /** By how much the service's clock is behind ours, at least 0. */
  readonly clockBehindMs: number;
}

export type StopReason =
  | 'Overtaken'
  | 'DeadlineExceeded'
  | 'MaxBytesScanned'
  /** Only of one that has no job yet: those that have one are read to their end. */
  | 'Paused'
  /** This process does not go on with the export. */
  | 'ShutDown';

/** Why nothing starts although something is left. */
export type Wait =
  /** Records at the destination do not fit together. */
  | { readonly kind: 'disorder'; readonly strays: readonly CommitRecord[] }
  | { readonly kind: 'deadline' | 'paused' | 'maxMessages' | 'maxBytesScanned' | 'trouble' }
  /** Somebody has to do something about these. `isRest`: nothing else is left. */
  | { readonly kind: 'people'; readonly holds: readonly Hold[]; readonly isRest: boolean }
  /** On the wall clock. */
  | { readonly kind: 'settling'; readonly untilMs: number }
  | { readonly kind: 'retry'; readonly holds: readonly Hold[] };

export interface ExportProgress {
  /** Share of the export that is covered, 0 to 1: of each planned segment the ratio of its time. Segments have about as many rows each. */
  readonly coveredPart: number;
  readonly intervalsDone: number;
  /** As far as is known now: those done, and one for each segment that is not. */
  readonly intervalsPlanned: number;
  readonly rows: number;
  readonly bytes: number;
  readonly duplicates: number;
  readonly scannedBytes: number;
}

export interface ExportDecision {
  readonly coverage: Coverage;
  readonly start: readonly SearchOrder[];
  /** To be ended without a record. */
  readonly stop: readonly { readonly search: RunningSearch; readonly reason: StopReason }[];
  /** Their jobs have not long to live: what they have is read and committed as of a cut one (E13). */
  readonly endAsCut: readonly RunningSearch[];
  /** Everything is: a digest of what is unproven is missing, and then the manifest. */
  readonly isCovered: boolean;
  /** Intervals that a digest is to prove, once everything is covered; in order of time. */
  readonly unproven: readonly CommitRecord[];
  readonly waitsFor: Wait | undefined;
  readonly progress: ExportProgress;
  /** When time alone may change this decision; infinite where it cannot. */
  readonly requeueAfterMs: number;
}

/** Of holds that are no segment's: ranges of which the digest differs, and that were searched again often enough. */
export const digestSegment = -1;

/** The service ends a query after eight hours (3.1); what it has found takes its time to be read. */
const longestSearchMs = longestQueryMs - 20 * 60_000;

export function decide(input: DecideInput): ExportDecision {
  const { plan, records, running, now } = input;
  const coverage = coverageOf(plan, records, input.verdicts);
  const isCovered = coverage.rest.length === 0 && coverage.strays.length === 0;
  const unproven = isCovered && input.wantsDigest ? unprovenOf(coverage.intervals, input.verdicts ?? []) : [];
  const stop = stopsOf(input, coverage);
  const going = running.filter((search) => !stop.some((stopped) => stopped.search === search));
  const free = coverage.rest.filter(({ index }) => !going.some(({ segment }) => segment === index));
  const refusal = refusalOf(input, coverage, unproven.length > 0);
  const ready = refusal ? [] : free.filter((segment) => !holdOf(input, segment) && isSettled(input, segment));
  const room = Math.max(0, Math.min(input.limits.parallelism - going.length, searchesLeft(input, going, coverage)));
  const start = ready.slice(0, room).map((segment) => orderOf(input, coverage, segment));
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

/** What keeps everything from starting. */
function refusalOf(input: DecideInput, { strays, rest, intervals }: Coverage, isUnproven: boolean): Wait | undefined {
  const { limits, running } = input;
  if (strays.length > 0) return { kind: 'disorder', strays };
  if (rest.length === 0 && !isUnproven) return undefined;
  if (isOver(input.limits, input.now.wallMs)) return { kind: 'deadline' };
  if (limits.isPaused) return { kind: 'paused' };
  const written = writtenRows(intervals);
  const found = running.reduce((sum, { messageCount }) => sum + messageCount, 0);
  if (rest.length > 0 && limits.maxMessages !== undefined && written + found >= limits.maxMessages)
    return { kind: 'maxMessages' };
  if (isScannedOut(input.limits, scannedBytes(input))) return { kind: 'maxBytesScanned' };
  return isInTrouble(input) ? { kind: 'trouble' } : undefined;
}

/**
 * How many searches may begin before the rows that are written, and those that searches bring, are as many as may be. One that has not
 * found all of its rows yet counts as full: the limit is exceeded by the last one's rows at most, however many run side by side.
 */
function searchesLeft(input: DecideInput, going: readonly RunningSearch[], { intervals }: Coverage): number {
  const { maxMessages } = input.limits;
  if (maxMessages === undefined) return Number.POSITIVE_INFINITY;
  const fullRows = fullSearchRows(input);
  const expected = going.reduce(
    (sum, { isSearching, messageCount }) => sum + Math.max(messageCount, isSearching ? fullRows : 0),
    writtenRows(intervals),
  );
  return Math.ceil((maxMessages - expected) / fullRows);
}

/** What a search may bring. A limit that the service does not call one shows by what searches have brought, if at all. */
function fullSearchRows({ limits: { smallestLimit }, records, running }: DecideInput): number {
  if (smallestLimit !== undefined) return smallestLimit;
  const found = running.reduce((most, { messageCount }) => Math.max(most, messageCount), usualLimit);
  return records.reduce((most, { received }) => Math.max(most, received), found);
}

function writtenRows(records: readonly CommitRecord[]): number {
  return records.reduce((sum, { written }) => sum + written, 0);
}

function isInTrouble({ troubleUntilMs, now }: DecideInput): boolean {
  return troubleUntilMs !== undefined && troubleUntilMs > now.monotonicMs;
}

/** Whether the time of the export is over. */
export function isOver({ deadlineMs }: Pick<ExportLimits, 'deadlineMs'>, wallMs: number): boolean {
  return deadlineMs !== undefined && wallMs >= deadlineMs;
}

/** Whether nothing more is searched, by all that was scanned for the export. */
export function isScannedOut({ maxBytesScanned }: Pick<ExportLimits, 'maxBytesScanned'>, scanned: number): boolean {
  return maxBytesScanned !== undefined && scanned >= maxBytesScanned;
}

function scannedBytes({ running, scannedBytes: before }: DecideInput): number {
  return running.reduce((sum, search) => sum + search.scannedBytes, before);
}

function stopsOf(input: DecideInput, { rest }: Coverage): ExportDecision['stop'] {
  const ends = new Map(rest.map(({ index, toMs }) => [index, toMs]));
  return input.running.flatMap((search) => {
    const reason = stopReason(input, search, ends.get(search.segment));
    return reason === undefined ? [] : [{ search, reason }];
  });
}

/** `endMs` is where the next record of its segment ends. */
function stopReason(input: DecideInput, search: RunningSearch, endMs: number | undefined): StopReason | undefined {
  // Somebody else has committed up to its end.
  if (endMs !== search.toMs) return 'Overtaken';
  if (isOver(input.limits, input.now.wallMs)) return 'DeadlineExceeded';
  if (input.limits.isPaused && search.createdAtMs === undefined) return 'Paused';
  return search.isSearching && isScannedOut(input.limits, scannedBytes(input)) ? 'MaxBytesScanned' : undefined;
}

/** When a segment may be searched up to its end, on our wall clock: by the earlier of both clocks (E11). */
function settledAtMs({ limits: { settleDelayMs }, now: { clockBehindMs } }: DecideInput, { toMs }: Segment): number {
  return toMs + settlingMs({ settleDelayMs, clockBehindMs });
}

function isSettled(input: DecideInput, segment: Segment): boolean {
  return settledAtMs(input, segment) <= input.now.wallMs;
}

/** One that still holds: of the interval that is next, and not over. */
function holdOf({ holds, now }: DecideInput, { index, toMs }: Segment): Hold | undefined {
  return holds.find((hold) => {
    if (hold.segment !== index || hold.toMs !== toMs) return false;
    return hold.untilMs === undefined || hold.untilMs > now.monotonicMs;
  });
}

function orderOf(input: DecideInput, { intervals }: Coverage, segment: Segment): SearchOrder {
  const { index, fromMs, toMs } = segment;
  const narrowed = input.narrowed.find((order) => order.segment === index && order.toMs === toMs);
  if (narrowed) return { segment: index, fromMs: Math.max(fromMs, narrowed.fromMs), toMs };
  const before = intervals.find((interval) => interval.segment === index);
  if (!input.byReceiptTime || !before) return { segment: index, fromMs, toMs };
  return { segment: index, fromMs: nextAim(segment, before, input.limits.smallestLimit), toMs };
}

function waitOf(input: DecideInput, free: readonly Segment[]): Wait | undefined {
  const held = free.flatMap((segment) => holdOf(input, segment) ?? []);
  const forPeople = held.filter(({ untilMs }) => untilMs === undefined);
  if (held.length > forPeople.length) return { kind: 'retry', holds: held.filter((hold) => !forPeople.includes(hold)) };
  if (forPeople.length > 0) return { kind: 'people', holds: forPeople, isRest: forPeople.length === free.length };
  const untilMs = Math.min(...free.map((segment) => settledAtMs(input, segment)));
  return Number.isFinite(untilMs) ? { kind: 'settling', untilMs } : undefined;
}

/** Where a digest differs still, a person has to do something. */
function digestWait({ holds }: DecideInput, unproven: readonly CommitRecord[]): Wait | undefined {
  const held = unproven.length === 0 ? [] : holds.filter(({ segment }) => segment === digestSegment);
  return held.length === 0 ? undefined : { kind: 'people', holds: held, isRest: true };
}

function progressOf(input: DecideInput, { intervals, rest }: Coverage): ExportProgress {
  const segments = allSegmentsOf(input.plan, input.verdicts);
  const planned = input.plan.boundariesMs.length - 1;
  const left = rest.reduce((sum, { index, fromMs, toMs }) => sum + (toMs - fromMs) / lengthOf(segments[index]), 0);
  const { rows, bytes, duplicates } = totalsOf(intervals);
  return {
    coveredPart: rest.length === 0 ? 1 : Math.max(0, planned - left) / planned,
    intervalsDone: intervals.length,
    intervalsPlanned: intervals.length + rest.length,
    rows,
    bytes,
    duplicates,
    scannedBytes: scannedBytes(input),
  };
}

function lengthOf(segment: Segment | undefined): number {
  return segment ? segment.toMs - segment.fromMs : Number.POSITIVE_INFINITY;
}

/** When a job has to be ended; never, when it is being read or has none. */
function dueMs({ createdAtMs, isSearching }: RunningSearch): number {
  return createdAtMs === undefined || !isSearching ? Number.POSITIVE_INFINITY : createdAtMs + longestSearchMs;
}

function nextChangeMs(input: DecideInput, going: readonly RunningSearch[], free: readonly Segment[]): number {
  const { now, limits, troubleUntilMs } = input;
  const { wallMs, monotonicMs } = now;
  const delays = [
    ...(troubleUntilMs === undefined ? [] : [troubleUntilMs - monotonicMs]),
    ...(limits.deadlineMs === undefined ? [] : [limits.deadlineMs - wallMs]),
    ...going.map((search) => dueMs(search) - monotonicMs),
    ...free.map((segment) => settledAtMs(input, segment) - wallMs),
    ...free.map((segment) => (holdOf(input, segment)?.untilMs ?? Number.POSITIVE_INFINITY) - monotonicMs),
  ];
  return Math.min(...delays.filter((delayMs) => delayMs > 0), Number.POSITIVE_INFINITY);
}
