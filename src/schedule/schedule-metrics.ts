/** Metrics of schedules, which are computed from the statuses of the schedules (C3). */
import type { SearchExportScheduleStatus } from '../api/generated/search-export-schedule.ts';
import type { Metrics } from '../base/metrics.ts';
import { type StatusFigure, StatusMetrics } from '../controller/status-metrics.ts';

export type ScheduleMetrics = StatusMetrics<SearchExportScheduleStatus>;

const figures: readonly StatusFigure<SearchExportScheduleStatus>[] = [
  [
    'logfleet_schedule_covered_timestamp_seconds',
    'Time up to which a schedule has exported everything since its start, in seconds since 1970. Absent once everything until endTime is exported.',
    ({ summary }) => (summary?.lagSince === undefined ? undefined : Date.parse(summary.lagSince) / 1_000),
  ],
  ['logfleet_schedule_gaps', 'Runs of a schedule that failed and were not exported again.', ({ gaps }) => gaps?.length],
  [
    'logfleet_schedule_pending_runs',
    'Runs of a schedule that are due and do not exist yet, counted up to 1000.',
    ({ pendingRuns }) => pendingRuns,
  ],
  ['logfleet_schedule_active_runs', 'Runs of a schedule that have not ended.', ({ summary }) => summary?.active],
];

export function scheduleMetrics(metrics: Metrics): ScheduleMetrics {
  return new StatusMetrics({ metrics, kind: 'schedule', plural: 'schedules', figures });
}
