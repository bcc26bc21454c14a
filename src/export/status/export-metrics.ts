/** Metrics for exports, based on their statuses: state, progress, rows and bytes (C3). */
import type { SearchExport } from '../../api/kinds.ts';
import type { Metrics } from '../../base/metrics.ts';
import { measureStatuses, type StatusFigure } from '../../controller/status-metrics.ts';

const figures: readonly StatusFigure<SearchExport>[] = [
  [
    'logfleet_export_covered_ratio',
    'Finished fraction of an export, from 0 to 1. Each planned search counts equally.',
    ({ progress }) => progress && progress.coveredPercent / 100,
  ],
  ['logfleet_export_written_rows', "Rows in an export's files.", ({ progress }) => progress?.rowsWritten],
  ['logfleet_export_written_bytes', "Bytes in an export's files.", ({ progress }) => progress?.bytesWritten],
  [
    'logfleet_export_scanned_bytes',
    "Bytes scanned by an export's search jobs, as reported by the service.",
    ({ progress }) => progress?.bytesScanned,
  ],
  ['logfleet_export_jobs', "Number of an export's active search jobs.", ({ jobs }) => jobs?.length ?? 0],
];

/** Creates the metrics for exports. `exports` returns no exports while another process is the leader. */
export function measureExports(metrics: Metrics, exports: () => Iterable<SearchExport>): void {
  measureStatuses({ metrics, kind: 'export', plural: 'exports', figures, resources: exports });
}
