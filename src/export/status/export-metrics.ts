/** Metrics of exports, derived from their statuses: state, progress, written rows and bytes (C3). */
import type { SearchExport } from '../../api/kinds.ts';
import type { Metrics } from '../../base/metrics.ts';
import { type StatusFigure, StatusMetrics } from '../../controller/status-metrics.ts';

type Status = NonNullable<SearchExport['status']>;
export type ExportMetrics = StatusMetrics<Status>;

const figures: readonly StatusFigure<Status>[] = [
  [
    'logfleet_export_covered_ratio',
    'Ratio of the time range of an export that is done, 0 to 1.',
    ({ progress }) => progress && progress.coveredPercent / 100,
  ],
  ['logfleet_export_written_rows', 'Rows in the files of an export.', ({ progress }) => progress?.rowsWritten],
  ['logfleet_export_written_bytes', 'Length of the files of an export.', ({ progress }) => progress?.bytesWritten],
  ['logfleet_export_jobs', 'Search jobs of an export that are alive.', ({ jobs }) => jobs?.length ?? 0],
];

export function exportMetrics(metrics: Metrics): ExportMetrics {
  return new StatusMetrics({ metrics, kind: 'export', plural: 'exports', figures });
}
