/** Metrics of schedules, computed from their statuses (C3). */
import type { SearchExportSchedule } from '../api/kinds.ts';
import { parseDuration } from '../base/duration.ts';
import type { Metrics } from '../base/metrics.ts';
import { measureStatuses, type StatusFigure } from '../controller/status-metrics.ts';

const figures: readonly StatusFigure<SearchExportSchedule>[] = [
  [
    'logfleet_schedule_covered_timestamp_seconds',
    'End of the time range that a schedule has exported without gaps since its start, in seconds since 1970. Absent until the start of the schedule, and after the schedule has exported everything up to endTime.',
    ({ summary }) => (summary?.lagSince === undefined ? undefined : Date.parse(summary.lagSince) / 1_000),
  ],
  [
    'logfleet_schedule_covered_seconds',
    'Sum of the lengths of all time ranges that a schedule has exported, in seconds.',
    ({ covered }) => covered?.reduce((sum, { from, to }) => sum + (Date.parse(to) - Date.parse(from)) / 1_000, 0),
  ],
  [
    'logfleet_schedule_due_timestamp_seconds',
    'Due time of the oldest active run of a schedule, in seconds since 1970: the end of its time range plus settleDelay. Absent if there are no active runs.',
    dueSeconds,
  ],
  [
    'logfleet_schedule_gaps',
    'Number of failed runs of a schedule whose time ranges are not exported yet.',
    ({ gaps }) => gaps?.length,
  ],
  [
    'logfleet_schedule_pending_runs',
    "Number of a schedule's runs that are due but do not exist yet, counted up to 1000.",
    ({ pendingRuns }) => pendingRuns,
  ],
  [
    'logfleet_schedule_active_runs',
    'Number of runs of a schedule that have not ended. Runs whose time range is already exported do not count.',
    ({ summary }) => summary?.active,
  ],
];

function dueSeconds(
  { runs = [] }: NonNullable<SearchExportSchedule['status']>,
  { spec }: SearchExportSchedule,
): number | undefined {
  const endsMs = runs.filter(({ state }) => state === 'Active').map(({ to }) => Date.parse(to));
  if (endsMs.length === 0) return undefined;
  return (Math.min(...endsMs) + (parseDuration(spec.template.spec.settleDelay) ?? 0)) / 1_000;
}

/** @param schedules function that returns the schedules to measure, or none while another process is the leader */
export function measureSchedules(metrics: Metrics, schedules: () => Iterable<SearchExportSchedule>): void {
  measureStatuses({ metrics, kind: 'schedule', plural: 'schedules', figures, resources: schedules });
}
