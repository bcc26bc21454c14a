/**
 * Plans schedules: the runs that are due now (the backfill), and the runs of the next 24 hours. Only one run, the
 * sample, is actually planned. The estimates assume that every run has as many rows as the sample, needs as many
 * requests, and takes as long.
 */
import { scheduleRange } from '../../api/export-schedule-check.ts';
import type { SearchExport, SearchExportSchedule } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import { type TimeRange, union } from '../../base/time-range.ts';
import { isoSeconds, isoText } from '../../base/time-text.ts';
import { dayMs } from '../../base/time-units.ts';
import { timeZone } from '../../base/time-zone.ts';
import { readCovered } from '../../schedule/covered-time.ts';
import { dueTimeOf, maxRunningOf, nextDue, type ScheduleTimes } from '../../schedule/schedule-decision.ts';
import { readGaps, scheduleTimes } from '../../schedule/schedule-status.ts';
import { TickCalendar } from '../../schedule/tick-calendar.ts';
import { clockMarginMs, type ExportOutlook } from './export-planner.ts';

/**
 * Periods in ms over which the mean number of runs per day is computed. The longer period is for schedules with fewer
 * than one run per day.
 */
const averagedMs = [28 * dayMs, 364 * dayMs] as const;
/** Maximum number of due runs that are counted. */
export const maxPending = 100_000;

export interface ScheduleRuns {
  readonly resource: SearchExportSchedule;
  /** Runs that become due in the next 24 hours. */
  readonly nextDay: number;
  /** Number of due runs that are neither complete nor failed. Counts at most `maxPending` runs. */
  readonly pending: number;
  /** Failed runs. Only a user can start them again. */
  readonly failed: number;
  /**
   * Start of the schedule in ms, if `endTime` is not after it. The spec is then invalid, and the schedule has no runs.
   * Undefined if the spec is valid.
   */
  readonly lateStartMs: number | undefined;
  /** Due time of the next run. Undefined if the schedule has ended. */
  readonly nextDueMs: number | undefined;
  /**
   * Mean number of runs per day over the next four weeks, or over the next year if there is less than one run per day.
   */
  readonly meanPerDay: number;
  /** Sample run from which the estimates for all runs are made. Undefined if the schedule has no runs left. */
  readonly sample: ScheduleSample | undefined;
}

/**
 * Sample run of a schedule. It is planned like a single export, and the costs of all other runs are estimated from its
 * plan.
 */
export interface ScheduleSample {
  readonly span: TimeRange;
  /** True if no run has complete data yet. The sample is then a past period before the first run. */
  readonly isOlder: boolean;
  readonly export: SearchExport;
}

/** Plan of a schedule. The field `outlook` contains the plan of the sample run, from which all runs are estimated. */
export interface ScheduleOutlook extends ScheduleRuns {
  readonly outlook: ExportOutlook | undefined;
}

/** Counts the runs of a schedule, and chooses a sample run. */
export function runsOf(resource: SearchExportSchedule, nowMs: number): ScheduleRuns {
  const { spec, status } = resource;
  const zone = timeZone(spec.timeZone);
  const range = scheduleRange(spec);
  assert(zone !== undefined && !('problem' in range), 'the schedule is valid');
  const times = scheduleTimes(resource, range, new TickCalendar(spec.schedule, zone));
  const gaps = readGaps(status);
  const { open } = dueTimeOf(times, nowMs, union([...readCovered(status), ...gaps.map(({ span }) => span)]));
  const due = open.values().flatMap((span) => times.calendar.divide(span));
  const pending = lengthOf(due.take(maxPending));
  const lateStartMs = times.startMs < times.endMs ? undefined : times.startMs;
  const nextDueMs = lateStartMs === undefined ? nextDue(times, nowMs) : undefined;
  const isDone = pending === 0 && nextDueMs === undefined;
  return {
    ...{ resource, pending, lateStartMs, nextDueMs, failed: gaps.length },
    nextDay: lateStartMs === undefined ? dueIn(times, nowMs, nowMs + dayMs) : 0,
    meanPerDay: meanPerDay(times.calendar, nowMs),
    sample: isDone ? undefined : sampleOf(resource, times, nowMs),
  };
}

/** Returns true if a schedule will create more runs, now or later. */
export function hasRunsLeft({ pending, nextDueMs }: ScheduleRuns): boolean {
  return pending > 0 || nextDueMs !== undefined;
}

/** Returns one sentence for each reason why the runs of a schedule cannot start, are delayed, or cannot complete. */
export function hindrancesOf({ lateStartMs, outlook }: ScheduleOutlook): readonly string[] {
  if (lateStartMs !== undefined) {
    const start = `the start of the schedule (${isoSeconds(lateStartMs)})`;
    return [`endTime is not after ${start}. To export older logs, set startTime.`];
  }
  return outlook?.kind === 'searches' ? outlook.plan.hindrances : [];
}

function lengthOf(items: IteratorObject<unknown>): number {
  return items.reduce<number>((count) => count + 1, 0);
}

/** Returns how many times the cron schedule fires after `afterMs`, up to and including `untilMs`. */
function ticksIn(calendar: TickCalendar, afterMs: number, untilMs: number): number {
  return untilMs <= afterMs ? 0 : lengthOf(calendar.divide({ fromMs: afterMs, toMs: untilMs + 1 })) - 1;
}

/**
 * Returns the number of runs that become due after `afterMs`, up to and including `untilMs`. If the schedule ends
 * between two times of its cron schedule, the last, shorter run is also counted.
 */
function dueIn({ calendar, startMs, endMs, settleDelayMs }: ScheduleTimes, afterMs: number, untilMs: number): number {
  const [fromMs, toMs] = [afterMs - settleDelayMs, untilMs - settleDelayMs];
  const ticks = ticksIn(calendar, Math.max(fromMs, startMs), Math.min(toMs, endMs));
  const endsBetween = fromMs < endMs && endMs <= toMs && calendar.lastUntil(endMs) !== endMs;
  return ticks + (endsBetween ? 1 : 0);
}

function meanPerDay(calendar: TickCalendar, nowMs: number): number {
  const [shortMs, longMs] = averagedMs;
  const count = ticksIn(calendar, nowMs, nowMs + shortMs);
  const isOften = count >= shortMs / dayMs;
  const [ticks, lengthMs] = isOften ? [count, shortMs] : [ticksIn(calendar, nowMs, nowMs + longMs), longMs];
  return (ticks * dayMs) / lengthMs;
}

/**
 * Chooses the sample run: the latest run with complete data or, if only the run before it covers a whole period of the
 * cron schedule, that run. If no run has complete data, chooses the latest past period between two times of the cron
 * schedule. Returns undefined if there is no such period either.
 */
function sampleOf(resource: SearchExportSchedule, times: ScheduleTimes, nowMs: number): ScheduleSample | undefined {
  const { calendar, startMs, endMs, settleDelayMs } = times;
  const { spec, metadata, apiVersion } = resource;
  const completeMs = nowMs - settleDelayMs - clockMarginMs;
  const lastMs = calendar.lastUntil(completeMs);
  const toMs = completeMs >= endMs ? endMs : (lastMs ?? startMs);
  const latest = toMs > startMs ? calendar.divideBackwards({ fromMs: startMs, toMs }).take(2).toArray() : [];
  const isWhole = (span: TimeRange) =>
    calendar.lastUntil(span.fromMs) === span.fromMs && calendar.lastUntil(span.toMs) === span.toMs;
  const run = latest.find(isWhole) ?? latest[0];
  const beforeMs = lastMs === undefined ? undefined : calendar.lastUntil(lastMs - 1);
  const older = lastMs === undefined || beforeMs === undefined ? undefined : { fromMs: beforeMs, toMs: lastMs };
  const span = run ?? older;
  if (!span) return undefined;
  const [from, to] = [span.fromMs, span.toMs].map(isoText);
  const timeRange = { from: from ?? '', to: to ?? '', timeZone: spec.timeZone };
  const runSpec = { ...spec.template.spec, timeRange, paused: spec.paused };
  return { span, isOlder: run === undefined, export: { apiVersion, kind: 'SearchExport', metadata, spec: runSpec } };
}

export interface RunEstimates {
  readonly requests: number;
  readonly rows: number;
  /** Number of bytes that the log service scans for the searches. Undefined if unknown. */
  readonly bytesToScan: number | undefined;
}

/** Estimates for a schedule. All of them are computed from the plan of one run. */
export interface ScheduleFigures {
  readonly perRun: RunEstimates;
  readonly nextDay: RunEstimates;
  /**
   * Estimates for all due runs. `durationMs` is undefined if new runs need the whole request rate, so that the due runs
   * would never be complete.
   */
  readonly backfill: (RunEstimates & { readonly durationMs: number | undefined }) | undefined;
  /** Fraction of the allowed request rate that the schedule needs. Undefined if the schedule has ended. */
  readonly share: number | undefined;
  /** Maximum number of active runs. */
  readonly runsAtOnce: number;
}

/** Returns the estimates for a schedule. Returns undefined if no run of the schedule could be planned. */
export function scheduleFiguresOf(planned: ScheduleOutlook): ScheduleFigures | undefined {
  const { resource, outlook, nextDay, pending, nextDueMs, meanPerDay } = planned;
  if (outlook?.kind !== 'searches') return undefined;
  const { requests, requestsPerSecond: ofRun, jointRequestsPerSecond, rows, bytesToScan, durationMs } = outlook.plan;
  const runsAtOnce = Math.min(resource.spec.maxActive, maxRunningOf(resource.spec, outlook.plan.shares));
  const requestsPerSecond = Math.min(runsAtOnce * ofRun, jointRequestsPerSecond);
  const times = (runs: number): RunEstimates => ({
    ...{ requests: runs * requests, rows: runs * rows },
    bytesToScan: bytesToScan === undefined ? undefined : runs * bytesToScan,
  });
  const share = nextDueMs === undefined ? undefined : (meanPerDay * requests) / (requestsPerSecond * (dayMs / 1_000));
  const freePerSecond = requestsPerSecond * (1 - (share ?? 0));
  // New runs come first, so only the rest of the request rate is left for the runs that are already due.
  const requestsMs = ((pending * requests) / freePerSecond) * 1_000;
  const runsMs = Math.ceil(pending / runsAtOnce) * durationMs;
  const backfillMs = freePerSecond <= 0 ? undefined : Math.max(requestsMs, runsMs);
  return {
    ...{ perRun: times(1), nextDay: times(nextDay), share, runsAtOnce },
    backfill: pending === 0 ? undefined : { ...times(pending), durationMs: backfillMs },
  };
}
