/** Renders plans of schedules as text, JSON or YAML. */
import { renderDuration } from '../../base/duration.ts';
import { keyText } from '../../base/key-text.ts';
import { groupedText } from '../../base/number-text.ts';
import { isoSeconds } from '../../base/time-text.ts';
import type { TargetOptions } from '../command/options.ts';
import { commandLine } from '../render/next-steps.ts';
import { paintWith } from '../render/paint.ts';
import { type Fact, renderFacts } from '../render/table.ts';
import { printable, renderAge, renderBytes, renderCount } from '../render/text.ts';
import { butFacts } from './plan-view.ts';
import {
  hasRunsLeft,
  hindrancesOf,
  maxPending,
  type RunEstimates,
  type ScheduleOutlook,
  scheduleFiguresOf,
} from './schedule-planner.ts';

interface SchedulePlanOptions {
  readonly width: number;
  readonly colour: boolean;
  /** Flags that another logfleet command needs to find the schedule. */
  readonly target: TargetOptions;
}

export function renderSchedulePlan(
  planned: ScheduleOutlook,
  { width, colour, target }: SchedulePlanOptions,
): readonly string[] {
  const paint = paintWith(colour);
  return [
    paint('bold', printable(`${keyText(planned.resource.metadata)}: ${scheduleTitle(planned)}`)),
    ...renderFacts(scheduleFacts(planned, target), { width, paint, margin: 2, nameWidth: 12 }),
  ];
}

/**
 * Renders the title of a schedule's plan. The title gives the number of runs, or says that there are none, or that the
 * schedule has ended.
 */
export function scheduleTitle(planned: ScheduleOutlook): string {
  const { nextDay, pending, lateStartMs } = planned;
  const isEnded = planned.nextDueMs === undefined;
  if (lateStartMs !== undefined) return 'no runs';
  if (!hasRunsLeft(planned)) return 'nothing to do, because the schedule has ended';
  const due = pending === 0 ? '' : `${atLeast(pending)}${renderCount(pending, 'run')} due now`;
  if (isEnded) return `${due}, and none later, because the schedule ends`;
  const later = `${renderCount(nextDay, 'run')} in the next 24 hours`;
  return pending === 0 ? later : `${due}, and ${later}`;
}

/** Returns the lines of a schedule's plan. Each line has a name and a value, such as the number of runs. */
export function scheduleFacts(planned: ScheduleOutlook, target: TargetOptions): readonly Fact[] {
  const { resource, sample, failed, pending, nextDay, nextDueMs } = planned;
  const { perRun, nextDay: day, backfill, share, runsAtOnce = 0 } = scheduleFiguresOf(planned) ?? {};
  const retry = commandLine('retry', resource, { ...target, namespace: resource.metadata.namespace });
  return [
    ['Sample', sample && describeSample(sample)],
    ...butFacts(hindrancesOf(planned)),
    ['One run', perRun && describe(perRun)],
    ['Backfill', backfill && `${atLeast(pending)}${renderCount(pending, 'run')}, ${describe(backfill)}`],
    ['Takes', backfill && describeTime(backfill.durationMs, runsAtOnce)],
    ['Next day', day && nextDay > 0 ? `${renderCount(nextDay, 'run')}, ${describe(day)}` : undefined],
    ['Next run', nextDueMs === undefined ? undefined : `due at ${isoSeconds(nextDueMs)}`],
    ['Rate', share === undefined ? undefined : describeShare(share)],
    ['Gaps', failed === 0 ? undefined : `${renderCount(failed, 'failed run')}; to repeat failed runs: ${retry}`],
  ];
}

function describeSample({ span, isOlder }: NonNullable<ScheduleOutlook['sample']>): string {
  const range = `${isoSeconds(span.fromMs)} to ${isoSeconds(span.toMs)}`;
  return isOlder
    ? `${range} (no run has complete data yet, so the plan uses the period before the first run)`
    : `${range}, the latest run with complete data`;
}

function describe({ rows, requests, bytesToScan }: RunEstimates): string {
  const scans = bytesToScan === undefined ? '' : `; scans ${renderBytes(bytesToScan)}`;
  return `about ${renderCount(rows, 'row')} and ${groupedText(requests)} requests${scans}`;
}

function describeTime(durationMs: number | undefined, runsAtOnce: number): string {
  return durationMs === undefined
    ? 'forever: new runs need all allowed requests, and none are left for the backfill'
    : `about ${renderAge(durationMs)} for the backfill, ${renderCount(runsAtOnce, 'run')} at a time`;
}

function describeShare(share: number): string {
  const text = share < 0.001 ? 'less than 0.1 %' : `${(100 * share).toFixed(1)} %`;
  return share > 1
    ? `${text} of the allowed requests, on average: this is more than the limit, so the runs fall behind`
    : `${text} of the allowed requests, on average`;
}

function atLeast(pending: number): string {
  return pending === maxPending ? 'at least ' : '';
}

export function schedulePlanDocument(planned: ScheduleOutlook): object {
  const { resource, nextDay, pending, failed, nextDueMs, sample, outlook } = planned;
  const { namespace, name } = resource.metadata;
  const problem = outlook?.kind === 'problem' ? { reason: outlook.reason, message: outlook.message } : undefined;
  const { perRun, nextDay: day, backfill, share } = scheduleFiguresOf(planned) ?? {};
  return {
    ...{ namespace, name, runsPerDay: nextDay, pendingRuns: pending, failedRuns: failed },
    nextRun: nextDueMs === undefined ? undefined : isoSeconds(nextDueMs),
    sample: sample && {
      ...{ from: isoSeconds(sample.span.fromMs), to: isoSeconds(sample.span.toMs), isOlder: sample.isOlder },
      ...perRun,
    },
    ...(day && {
      requestsPerDay: day.requests,
      rowsPerDay: day.rows,
      bytesToScanPerDay: day.bytesToScan,
      requestShare: share,
    }),
    backfill: backfill && describeBackfill(backfill),
    notes: hindrancesOf(planned),
    ...(problem && { problem }),
  };
}

function describeBackfill({
  durationMs,
  ...figures
}: RunEstimates & { readonly durationMs: number | undefined }): object {
  const duration = durationMs === undefined ? undefined : renderDuration(Math.ceil(durationMs / 1_000) * 1_000);
  return { ...figures, duration };
}
