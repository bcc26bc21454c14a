/**
 * Decides which runs a schedule creates and deletes next, and which complete runs need a schedule record (S1 to S6).
 * Also finds the time ranges of failed runs. `schedule-runtime.ts` carries out the decisions.
 */
import { maxWorkers } from '../account/worker-shares.ts';
import { reasons } from '../api/conditions.ts';
import type { SearchExport, SearchExportSchedule } from '../api/kinds.ts';
import { contains, coveredUntil, type TimeRange, union, without } from '../base/time-range.ts';
import { workersOf } from '../export/resource/export-spec.ts';
import { runName } from './run-name.ts';
import type { TickCalendar } from './tick-calendar.ts';

/**
 * State of a run, which is a SearchExport that a schedule created.
 * - `Active`: the run is working, or is waiting without needing a user.
 * - `Stalled`: a user must correct something, such as a missing Secret.
 * - `Failed`: the run reached a limit, or cannot prove that its rows are complete.
 * - `Complete`: all rows are in files, and the export manifest is written.
 * - `Deleting`: the SearchExport is being deleted. Until then, no other run may have its time range.
 */
export type RunState = 'Active' | 'Stalled' | 'Failed' | 'Complete' | 'Deleting';

/** Run of a schedule: a SearchExport that exists, or that the schedule's status announces before it exists (S6). */
export interface Run {
  readonly name: string;
  readonly span: TimeRange;
  readonly state: RunState;
  /** Reason of the run's `Ready` condition. */
  readonly reason: string;
  /**
   * SearchExport of the run. Undefined if the schedule's status names the run, but the SearchExport does not exist yet.
   */
  readonly resource?: SearchExport | undefined;
}

/** Gap: the time range of a failed run. It is exported only after the user has requested a retry. */
export interface Gap {
  readonly span: TimeRange;
  readonly run: string;
  readonly reason: string;
}

export interface ScheduleSettings {
  readonly name: string;
  readonly calendar: TickCalendar;
  /** Start of the time range to export. */
  readonly startMs: number;
  /** End of the time range to export (exclusive), or Infinity if the schedule has no end. */
  readonly endMs: number;
  /** Minimum time in ms from the end of a run's time range to the creation of the run (S3). */
  readonly settleDelayMs: number;
  readonly maxActive: number;
  /** Maximum number of active runs that are not paused (`maxRunningOf`). */
  readonly maxRunning: number;
  readonly backfillOrder: 'NewestFirst' | 'OldestFirst';
  readonly successfulRunsHistoryLimit: number;
  readonly failedRunsHistoryLimit: number;
}

/** Input of the decision. */
export interface ScheduleSnapshot {
  readonly nowMs: number;
  readonly settings: ScheduleSettings;
  readonly isPaused: boolean;
  /** Exported time ranges according to the schedule records or the status, sorted and without overlaps. */
  readonly covered: readonly TimeRange[];
  /** Exported time ranges according to the schedule records only, sorted and without overlaps. */
  readonly recorded: readonly TimeRange[];
  /** Exported time ranges according to the status only, sorted and without overlaps. */
  readonly shown: readonly TimeRange[];
  /** Gaps (time ranges of failed runs) that the status lists. */
  readonly gaps: readonly Gap[];
  readonly runs: readonly Run[];
  /** Reports whether a SearchExport that the schedule does not own has this name. */
  readonly isTaken: (name: string) => boolean;
  /** True if the user has requested a retry of failed and stalled runs. */
  readonly isRetryRequested: boolean;
}

export interface ScheduleDecision {
  /**
   * Complete runs that need a schedule record. A run that the status does not show as exported is recorded again,
   * because the existing record may belong to another schedule.
   */
  readonly record: readonly Run[];
  /**
   * Failed and stalled runs to delete before the status is written, because the user has requested a retry. Runs whose
   * time range is already exported are left out.
   */
  readonly repeat: readonly Run[];
  /** Old runs to delete after the status is written. */
  readonly remove: readonly Run[];
  /** Time ranges of the runs to create, in the order of creation. */
  readonly create: readonly TimeRange[];
  /** Gaps (time ranges of failed runs) for the status, in ascending order. */
  readonly gaps: readonly Gap[];
  /** Names of due runs that cannot be created, because other SearchExports already have these names. */
  readonly taken: readonly string[];
  /** Number of due runs that do not exist yet, including the runs in `create`. Counting stops at `maxCounted`. */
  readonly pending: number;
  /**
   * Unfinished runs, whose number is limited by `maxActive`. Runs whose time range is already exported are left out.
   */
  readonly unfinished: readonly Run[];
  /** Time up to which everything since the start of the schedule is exported. */
  readonly coveredUntilMs: number;
  /** True if the oldest time range of the schedule is exported. */
  readonly isOldestCovered: boolean;
  /** True if everything from the start to the end of the schedule is exported. */
  readonly isComplete: boolean;
  /**
   * Latest cron time that is at least `settleDelayMs` ago, and not after the end of the schedule. Undefined if there is
   * none.
   */
  readonly lastTickMs: number | undefined;
  /** Time at which the next run becomes due; undefined if the schedule has ended. */
  readonly nextDueMs: number | undefined;
}

/**
 * Number of failed runs at which a schedule stops creating runs. It continues after the user has retried the failed
 * runs (S5).
 */
export const maxGaps = 100;
/** Number of pending runs at which counting ends. */
export const maxCounted = 1_000;

export function decideSchedule(snapshot: ScheduleSnapshot): ScheduleDecision {
  const { nowMs, settings, covered, recorded, shown, runs, isTaken } = snapshot;
  const { name, calendar, startMs, endMs, settleDelayMs, maxActive, maxRunning } = settings;
  // Leaves out runs whose time range is already exported. They may be active or failed again, for example after a check
  // has found that files are lost.
  const open = runs.filter(({ span }) => !contains(covered, span));
  const repeat = snapshot.isRetryRequested ? open.filter(({ state }) => state === 'Failed' || state === 'Stalled') : [];
  const present = runs.filter((run) => !repeat.includes(run));
  const gaps = gapsOf(snapshot, present);
  const taken = union([...covered, ...[...gaps, ...present].map(({ span }) => span)]);
  const dueTime = dueTimeOf(settings, nowMs, taken);
  const due = dueRuns(dueTime, settings).take(maxCounted).toArray();
  const creatable = due.filter((span) => !isTaken(runName(name, span)));
  const coveredUntilMs = coveredUntil(covered, startMs);
  const unfinished = open.filter((run) => isUnfinished(run) && !repeat.includes(run) && run.span.toMs <= nowMs);
  const active = unfinished.length;
  // If `maxActive` runs are unfinished and all of them are stalled, one more run may be created for the newest time
  // range, so that the newest logs are exported.
  const hasExtraSlot =
    active === maxActive &&
    creatable[0]?.toMs === dueTime.untilMs &&
    unfinished.every(({ state }) => state === 'Stalled');
  const slots = hasExtraSlot ? maxActive + 1 : maxActive;
  // A stalled or paused run usually has no Job, so it uses no share of the request limits.
  const running = unfinished.filter(({ state, reason }) => state === 'Active' && reason !== reasons.paused).length;
  // An unfinished run can still fail, so unfinished runs also count toward the maximum number of failed runs.
  const free = snapshot.isPaused ? 0 : Math.min(slots - active, maxGaps - gaps.length - active, maxRunning - running);
  return {
    record: present.filter(
      ({ state, span }) => state === 'Complete' && !(contains(recorded, span) && contains(shown, span)),
    ),
    remove: beyondHistory(present, snapshot),
    create: creatable.slice(0, Math.max(0, free)),
    taken: due.filter((span) => !creatable.includes(span)).map((span) => runName(name, span)),
    pending: due.length,
    coveredUntilMs,
    isOldestCovered: coveredUntilMs > startMs,
    isComplete: coveredUntilMs >= endMs,
    nextDueMs: nextDue(settings, nowMs),
    lastTickMs: calendar.lastUntil(Math.min(nowMs - settleDelayMs, endMs)),
    ...{ repeat, unfinished, gaps },
  };
}

/** Settings that determine the time range and the due time of each run. */
export type ScheduleTimes = Pick<ScheduleSettings, 'calendar' | 'startMs' | 'endMs' | 'settleDelayMs'>;

/** Time for which runs are due. */
export interface DueTime {
  /** Time ranges for which runs are due, except ranges that are already taken, in ascending order. */
  readonly open: readonly TimeRange[];
  /** Time up to which runs are due. It is never later than the end of the schedule. */
  readonly untilMs: number;
}

/**
 * Returns the time ranges for which runs are due, except the ranges in `taken`.
 *
 * @param taken time ranges that are exported, have failed or belong to an existing run, sorted and without overlaps
 */
export function dueTimeOf(
  { calendar, startMs, endMs, settleDelayMs }: ScheduleTimes,
  nowMs: number,
  taken: readonly TimeRange[],
): DueTime {
  const settledMs = nowMs - settleDelayMs;
  // If the user has changed the cron schedule, an existing run can end after the last cron time. In that case, runs are
  // due up to the end of that run. Runs in the future are ignored, because a wrong clock may have caused them.
  const lastTaken = taken.findLast(({ fromMs }) => fromMs <= settledMs);
  const closedMs = Math.max(calendar.lastUntil(settledMs) ?? startMs, Math.min(lastTaken?.toMs ?? startMs, settledMs));
  const untilMs = settledMs >= endMs ? endMs : Math.min(closedMs, endMs);
  return { open: without({ fromMs: startMs, toMs: untilMs }, taken), untilMs };
}

/** Returns the time at which the next run becomes due, or undefined if the schedule ends before then. */
export function nextDue(
  { calendar, startMs, endMs, settleDelayMs }: ScheduleTimes,
  afterMs: number,
): number | undefined {
  const settledMs = afterMs - settleDelayMs;
  const tickMs = calendar.firstAfter(Math.max(settledMs, startMs));
  return settledMs >= endMs ? undefined : Math.min(tickMs ?? endMs, endMs) + settleDelayMs;
}

/**
 * Returns the maximum number of runs that can have a share of the request limits at the same time (B8). Additional runs
 * in Kubernetes Jobs would only wait for a share, and a run that becomes due later would have to wait for all of them
 * (S3).
 *
 * @param shares number of shares of the user's request limits
 */
export function maxRunningOf(
  { template }: Pick<SearchExportSchedule['spec'], 'template'>,
  shares = maxWorkers,
): number {
  const { spec } = template;
  if (spec.execution.mode !== 'Job') return Number.POSITIVE_INFINITY;
  // Without a share, one run is still created. This run stalls, and its status says why.
  return Math.max(1, Math.ceil(shares / workersOf(spec)));
}

function hasFailed({ state }: Run): boolean {
  return state === 'Failed';
}

/** Reports whether a run has not ended. */
export function isUnfinished({ state }: Pick<Run, 'state'>): boolean {
  return state === 'Active' || state === 'Stalled';
}

/** Reports whether a run is complete, but kept an interval that is not proven complete (`incompletePolicy: Keep`). */
export function isIncomplete({ state, resource }: Run): boolean {
  return state === 'Complete' && resource?.status?.manifest?.complete === false;
}

/**
 * Returns the gaps (time ranges of failed runs) that are not exported yet. The failed runs may already be deleted. A
 * gap is kept until a user requests a retry (S5).
 */
function gapsOf({ gaps, covered, isRetryRequested }: ScheduleSnapshot, present: readonly Run[]): readonly Gap[] {
  const failed = present.filter((run) => hasFailed(run) && !contains(covered, run.span));
  const found = failed.map(({ span, name: run, reason }) => ({ span, run, reason }));
  const names = new Set(found.map(({ run }) => run));
  const stored = isRetryRequested ? [] : gaps.filter(({ span, run }) => !names.has(run) && !contains(covered, span));
  return [...stored, ...found].sort((a, b) => a.span.fromMs - b.span.fromMs);
}

/**
 * Yields the time ranges of due runs in the order in which the runs are created (S3). A run that has just become due
 * comes first.
 */
function* dueRuns({ open, untilMs }: DueTime, settings: ScheduleSettings): Generator<TimeRange> {
  const { calendar, backfillOrder } = settings;
  const newestFirst = open
    .toReversed()
    .values()
    .flatMap((span) => calendar.divideBackwards(span));
  if (backfillOrder === 'NewestFirst') {
    yield* newestFirst;
    return;
  }
  const [newest] = newestFirst;
  const isJustDue = newest?.toMs === untilMs;
  if (newest && isJustDue) yield newest;
  const oldestFirst = open.values().flatMap((span) => calendar.divide(span));
  yield* isJustDue ? oldestFirst.filter(({ toMs }) => toMs !== untilMs) : oldestFirst;
}

/**
 * Returns the ended runs that exceed the history limits and must be deleted, oldest first. Incomplete runs are deleted
 * last. A complete run without a schedule record is kept.
 */
function beyondHistory(present: readonly Run[], { settings, recorded }: ScheduleSnapshot): readonly Run[] {
  const sorted = present.toSorted((a, b) => a.span.toMs - b.span.toMs);
  const complete = sorted
    .filter(({ state, span }) => state === 'Complete' && contains(recorded, span))
    .sort((a, b) => Number(isIncomplete(a)) - Number(isIncomplete(b)));
  const failed = sorted.filter(hasFailed);
  return [
    ...complete.slice(0, Math.max(0, complete.length - settings.successfulRunsHistoryLimit)),
    ...failed.slice(0, Math.max(0, failed.length - settings.failedRunsHistoryLimit)),
  ];
}
