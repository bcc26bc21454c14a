/** Composes the status of a schedule, and reads the status for the next decision. */
import { reasons } from '../api/conditions.ts';
import type { RunStatus, SearchExportScheduleStatus } from '../api/generated/search-export-schedule.ts';
import type { SearchExportSchedule } from '../api/kinds.ts';
import { parseDuration } from '../base/duration.ts';
import type { TimeRange } from '../base/time-range.ts';
import { isoSeconds } from '../base/time-text.ts';
import { describeHealth, type Health } from '../controller/health.ts';
import { echoOfRequest } from '../controller/status-text.ts';
import { readSpan } from './covered-time.ts';
import { runName } from './run-name.ts';
import type { Gap, Run, ScheduleDecision, ScheduleSnapshot, ScheduleTimes } from './schedule-decision.ts';
import type { TickCalendar } from './tick-calendar.ts';

/** Maximum lengths of lists in the status, as in the CRD. */
export const maxCovered = 100;
const maxRuns = 50;

/** Decision about a schedule, and the input of the decision. */
export interface ScheduleFacts extends Pick<ScheduleSnapshot, 'settings' | 'covered' | 'runs'> {
  readonly decision: ScheduleDecision;
}

export interface ScheduleStatusInput {
  readonly resource: SearchExportSchedule;
  readonly before: SearchExportScheduleStatus | undefined;
  readonly health: Health;
  readonly nowMs: number;
  /**
   * Decision that determines the status. Undefined if a problem prevented the decision; the status then keeps its
   * previous values.
   */
  readonly found: ScheduleFacts | undefined;
}

export function scheduleStatus(input: ScheduleStatusInput): SearchExportScheduleStatus {
  const { resource, before, health, nowMs, found } = input;
  const { generation } = resource.metadata;
  const { conditions, outageStartTime, ...figures } = before ?? {};
  const kept = { ...(conditions && { conditions }), ...(outageStartTime && { outageStartTime }) };
  // The status announces the runs to create, so that no process creates other runs for the same time ranges (S6).
  const { create = [] } = found?.decision ?? {};
  const announced = create.map((span) => announcedRun(resource.metadata.name, span));
  const { isComplete = true, coveredUntilMs = 0 } = found?.decision ?? {};
  // Before the start of the schedule, `coveredUntilMs` is in the future, so there is no lag.
  const lagSince = isComplete || coveredUntilMs > nowMs ? undefined : isoSeconds(coveredUntilMs);
  return {
    ...figures,
    ...(found ? describe(resource, before, { ...found, runs: [...found.runs, ...announced] }) : {}),
    observedGeneration: generation,
    summary: {
      ...before?.summary,
      ...(found && {
        active: found.decision.unfinished.length + announced.length,
        failedRuns: found.decision.gaps.length,
      }),
      // The value `undefined` removes the previous `lagSince` from the status.
      ...(found && ({ lagSince } as object)),
      state: health.reason,
    },
    ...describeHealth(kept, health, generation, isoSeconds(nowMs)),
  };
}

function describe(
  resource: SearchExportSchedule,
  before: SearchExportScheduleStatus | undefined,
  { settings, covered, runs, decision }: ScheduleFacts,
): SearchExportScheduleStatus {
  const { lastTickMs, nextDueMs, coveredUntilMs, pending, gaps } = decision;
  return {
    ...echoOfRequest(resource),
    startTime: isoSeconds(settings.startMs),
    coveredUntil: isoSeconds(coveredUntilMs),
    ...(lastTickMs === undefined ? {} : { lastScheduleTime: isoSeconds(lastTickMs) }),
    // The value `undefined` removes the previous `nextScheduleTime` from the status when no run follows.
    ...({ nextScheduleTime: nextDueMs === undefined ? undefined : isoSeconds(nextDueMs) } as object),
    pendingRuns: Math.max(0, pending - decision.create.length),
    covered: covered.slice(-maxCovered).map(renderSpan),
    gaps: gaps.map(({ span, run, reason }) => ({ ...renderSpan(span), run, reason })),
    runs: latestRuns(before?.runs ?? [], runs, gaps),
  };
}

function renderSpan({ fromMs, toMs }: TimeRange) {
  return { from: isoSeconds(fromMs), to: isoSeconds(toMs) };
}

/** Describes a run that is not in the cache yet. */
export function announcedRun(schedule: string, span: TimeRange): Run {
  return { name: runName(schedule, span), span, state: 'Active', reason: reasons.progressing };
}

/**
 * Returns the runs for the status, newest first: the existing runs, and earlier runs that are complete or that left a
 * gap. If there are too many runs, complete and failed runs are left out first, then incomplete runs. In each of these
 * groups, the oldest runs are left out first.
 */
function latestRuns(shown: readonly RunStatus[], existing: readonly Run[], gaps: readonly Gap[]): readonly RunStatus[] {
  const failed = new Set(gaps.map(({ run }) => run));
  const ended = shown.filter(({ name, state }) => state === 'Complete' || (state === 'Failed' && failed.has(name)));
  const runs = new Map(ended.map((run) => [run.name, run]));
  for (const run of existing) if (run.state !== 'Deleting') runs.set(run.name, runStatus(run, run.state));
  const newestFirst = [...runs.values()].sort((a, b) => Date.parse(b.from) - Date.parse(a.from));
  const kept = new Set(newestFirst.toSorted((a, b) => dropOrder(a) - dropOrder(b)).slice(0, maxRuns));
  return newestFirst.filter((run) => kept.has(run));
}

/** Returns a run's rank. If there are too many runs, those with the highest rank are left out of the status first. */
function dropOrder(run: RunStatus): number {
  if (!hasEnded(run)) return 0;
  return run.incomplete ? 1 : 2;
}

function hasEnded({ state }: RunStatus): boolean {
  return state === 'Complete' || state === 'Failed';
}

function runStatus({ name, span, resource }: Run, state: RunStatus['state']): RunStatus {
  const manifest = resource?.status?.manifest;
  if (state !== 'Complete' || !manifest) return { name, ...renderSpan(span), state };
  const { rows, bytes, url, complete } = manifest;
  return { name, ...renderSpan(span), state, rows, bytes, manifest: url, ...(complete ? {} : { incomplete: true }) };
}

/** Reads the gaps (time ranges of failed runs) from the status. */
export function readGaps(status: SearchExportScheduleStatus | undefined): readonly Gap[] {
  return (status?.gaps ?? []).map(({ run, reason, ...span }) => ({ span: readSpan(span), run, reason }));
}

/**
 * Returns the start time of a schedule that does not set `startTime`. This is the start in the status or, if the status
 * has none, the most recent cron time before the schedule was created (S2).
 */
function defaultStart({ metadata, status }: SearchExportSchedule, calendar: TickCalendar): number {
  const createdMs = Date.parse(metadata.creationTimestamp);
  return Date.parse(status?.startTime ?? '') || (calendar.lastUntil(createdMs) ?? createdMs);
}

/**
 * Returns the settings that decide when runs begin, end and become due. `startMs` applies if the spec has no
 * `startTime`.
 */
export function scheduleTimes(
  resource: SearchExportSchedule,
  range: TimeRange,
  calendar: TickCalendar,
  startMs = defaultStart(resource, calendar),
): ScheduleTimes {
  const { startTime, endTime, template } = resource.spec;
  return {
    calendar,
    settleDelayMs: parseDuration(template.spec.settleDelay) ?? 0,
    startMs: startTime === undefined ? startMs : range.fromMs,
    endMs: endTime === undefined ? Number.POSITIVE_INFINITY : range.toMs,
  };
}
