/** What is measured of each export, from its status: how far it is, what it has written, and its state with the reason, for alerts. */
import type { SearchExport } from '../api/kinds.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import { StateSeries } from '../controller/state-series.ts';
import type { ResourceKey } from '../host/host.ts';

const labelNames = ['namespace', 'export'] as const;

export class ExportMetrics {
  readonly #covered: Gauge;
  readonly #rows: Gauge;
  readonly #bytes: Gauge;
  readonly #jobs: Gauge;
  readonly #states: StateSeries;
  /** All that have series, by `namespace/name`. */
  readonly #shown = new Map<string, ResourceKey>();

  constructor(metrics: Metrics) {
    this.#covered = metrics.gauge(
      'logfleet_export_covered_ratio',
      'Share of the time range of an export that is done.',
      labelNames,
    );
    this.#rows = metrics.gauge('logfleet_export_written_rows', 'Rows in the files of an export.', labelNames);
    this.#bytes = metrics.gauge('logfleet_export_written_bytes', 'Length of the files of an export.', labelNames);
    this.#jobs = metrics.gauge('logfleet_export_jobs', 'Search jobs of an export that are alive.', labelNames);
    const states = metrics.gauge(
      'logfleet_export_state',
      '1 for the state of an export (Ready, Reconciling, Stalled, NotReady, Unknown) with the reason of its condition Ready.',
      [...labelNames, 'state', 'reason'],
    );
    this.#states = new StateSeries(states, 'export');
  }

  /** Nothing changes where the export has no status yet. */
  measure({ metadata: { namespace, name }, status }: SearchExport): void {
    const labels = { namespace, export: name };
    this.#shown.set(`${namespace}/${name}`, { namespace, name });
    if (status?.progress) {
      const { coveredPercent, rowsWritten, bytesWritten } = status.progress;
      this.#covered.set(labels, coveredPercent / 100);
      this.#rows.set(labels, rowsWritten);
      this.#bytes.set(labels, bytesWritten);
    }
    if (status) this.#jobs.set(labels, status.jobs?.length ?? 0);
    this.#states.measure({ namespace, name }, status?.conditions);
  }

  /** What another process leads from now on it measures itself: the same series from two would be two alerts, and ours would stand still. */
  clear(): void {
    for (const key of [...this.#shown.values()]) this.forget(key);
  }

  /** Forgets the series of an export that is gone. */
  forget(key: ResourceKey): void {
    const labels = { namespace: key.namespace, export: key.name };
    for (const gauge of [this.#covered, this.#rows, this.#bytes, this.#jobs]) gauge.remove(labels);
    this.#states.forget(key);
    this.#shown.delete(`${key.namespace}/${key.name}`);
  }
}
