/** Metrics of exports, derived from their statuses: states with reasons for alerts, progress, and written rows and bytes (C3). */
import type { SearchExport } from '../../api/kinds.ts';
import type { Gauge, Metrics } from '../../base/metrics.ts';
import { StateSeries } from '../../controller/state-series.ts';
import type { ResourceKey } from '../../host/host.ts';

const labelNames = ['namespace', 'export'] as const;

type Status = NonNullable<SearchExport['status']>;

/** Name, description and value of each metric. A value is undefined until the status contains it. */
const figures: readonly (readonly [string, string, (status: Status) => number | undefined])[] = [
  [
    'logfleet_export_covered_ratio',
    'Ratio of the time range of an export that is done, 0 to 1.',
    ({ progress }) => progress && progress.coveredPercent / 100,
  ],
  ['logfleet_export_written_rows', 'Rows in the files of an export.', ({ progress }) => progress?.rowsWritten],
  ['logfleet_export_written_bytes', 'Length of the files of an export.', ({ progress }) => progress?.bytesWritten],
  ['logfleet_export_jobs', 'Search jobs of an export that are alive.', ({ jobs }) => jobs?.length ?? 0],
];

export class ExportMetrics {
  readonly #gauges: readonly { readonly gauge: Gauge; readonly read: (status: Status) => number | undefined }[];
  readonly #states: StateSeries;

  constructor(metrics: Metrics) {
    this.#gauges = figures.map(([name, help, read]) => ({ gauge: metrics.gauge(name, help, labelNames), read }));
    const onHidden = (key: ResourceKey) => this.#hide(key);
    this.#states = new StateSeries({ metrics, kind: 'export', plural: 'exports', onHidden });
  }

  /** Updates the metrics of an export. Does nothing if the export has no status yet. */
  measure({ metadata: { namespace, name }, status }: SearchExport): void {
    if (!status || !this.#states.measure({ namespace, name }, status.conditions)) return;
    for (const { gauge, read } of this.#gauges) {
      const value = read(status);
      if (value !== undefined) gauge.set({ namespace, export: name }, value);
    }
  }

  /** Removes all series when another process leads, because the same series from two processes would cause two alerts. */
  clear(): void {
    this.#states.clear();
  }

  /** Removes the series of a deleted export. */
  forget(key: ResourceKey): void {
    this.#states.forget(key);
  }

  #hide({ namespace, name }: ResourceKey): void {
    for (const { gauge } of this.#gauges) gauge.remove({ namespace, export: name });
  }
}
