/** Metrics of exports, derived from their statuses: states with reasons for alerts, progress, and written rows and bytes (C3). */
import type { SearchExport } from '../../api/kinds.ts';
import type { Gauge, Metrics } from '../../base/metrics.ts';
import { StateSeries } from '../../controller/state-series.ts';
import type { ResourceKey } from '../../host/host.ts';

const labelNames = ['namespace', 'export'] as const;

export class ExportMetrics {
  readonly #covered: Gauge;
  readonly #rows: Gauge;
  readonly #bytes: Gauge;
  readonly #jobs: Gauge;
  readonly #states: StateSeries;

  constructor(metrics: Metrics) {
    this.#covered = metrics.gauge(
      'logfleet_export_covered_ratio',
      'Ratio of the time range of an export that is done, 0 to 1.',
      labelNames,
    );
    this.#rows = metrics.gauge('logfleet_export_written_rows', 'Rows in the files of an export.', labelNames);
    this.#bytes = metrics.gauge('logfleet_export_written_bytes', 'Length of the files of an export.', labelNames);
    this.#jobs = metrics.gauge('logfleet_export_jobs', 'Search jobs of an export that are alive.', labelNames);
    const onHidden = (key: ResourceKey) => this.#hide(key);
    this.#states = new StateSeries({ metrics, kind: 'export', plural: 'exports', onHidden });
  }

  /** Updates the metrics of an export. Does nothing if the export has no status yet. */
  measure({ metadata: { namespace, name }, status }: SearchExport): void {
    if (!status || !this.#states.measure({ namespace, name }, status.conditions)) return;
    const labels = { namespace, export: name };
    this.#jobs.set(labels, status.jobs?.length ?? 0);
    if (!status.progress) return;
    const { coveredPercent, rowsWritten, bytesWritten } = status.progress;
    this.#covered.set(labels, coveredPercent / 100);
    this.#rows.set(labels, rowsWritten);
    this.#bytes.set(labels, bytesWritten);
  }

  /** Removes all series when another process leads. The same series from two processes would cause two alerts. */
  clear(): void {
    this.#states.clear();
  }

  /** Removes the series of a deleted export. */
  forget(key: ResourceKey): void {
    this.#states.forget(key);
  }

  #hide({ namespace, name }: ResourceKey): void {
    for (const gauge of [this.#covered, this.#rows, this.#bytes, this.#jobs]) gauge.remove({ namespace, export: name });
  }
}
