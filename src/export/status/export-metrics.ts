/** Metrics of exports from their statuses: state, progress, rows and bytes (C3). */
import type { SearchExport } from '../../api/kinds.ts';
import type { Metrics } from '../../base/metrics.ts';
import { measureStatuses, type StatusFigure } from '../../controller/status-metrics.ts';

const figures: readonly StatusFigure<SearchExport>[] = [
  [
    'logfleet_export_covered_ratio',
    'Exported ratio of the time range, 0 to 1.',
    ({ progress }) => progress && progress.coveredPercent / 100,
  ],
  ['logfleet_export_written_rows', 'Rows in the files of an export.', ({ progress }) => progress?.rowsWritten],
  ['logfleet_export_written_bytes', 'Bytes in the files of an export.', ({ progress }) => progress?.bytesWritten],
  [
    'logfleet_export_scanned_bytes',
    'Bytes that the search jobs of an export have scanned, as the service reports them.',
    ({ progress }) => progress?.bytesScanned,
  ],
  ['logfleet_export_jobs', 'Active search jobs of an export.', ({ jobs }) => jobs?.length ?? 0],
];

/** Creates the metrics of exports. `exports` returns no exports while another process is the leader. */
export function measureExports(metrics: Metrics, exports: () => Iterable<SearchExport>): void {
  measureStatuses({ metrics, kind: 'export', plural: 'exports', figures, resources: exports });
}
