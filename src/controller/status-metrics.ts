/** Metrics of a kind that derive from the statuses of its resources: states with reasons for alerts, and numbers such as counts of collectors (C3). */
import type { Condition } from '../api/conditions.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import type { ResourceKey } from '../host/host.ts';
import { StateSeries } from './state-series.ts';

interface MeasuredResource {
  readonly metadata: ResourceKey;
  readonly status?: { readonly conditions?: readonly Condition[] } | undefined;
}

type StatusOf<R extends MeasuredResource> = NonNullable<R['status']>;

/** Name, description and value of a metric. The metric has no series for a resource whose value is undefined. */
export type StatusFigure<R extends MeasuredResource> = readonly [
  name: string,
  help: string,
  read: (status: StatusOf<R>, resource: R) => number | undefined,
];

interface StatusMetricsOptions<R extends MeasuredResource> {
  readonly metrics: Metrics;
  /** Kind of the resources, such as `export`. Metric names contain it, and the label with a resource's name is named after it. */
  readonly kind: string;
  readonly plural: string;
  readonly figures: readonly StatusFigure<R>[];
}

export class StatusMetrics<R extends MeasuredResource> {
  readonly #kind: string;
  readonly #gauges: readonly { readonly gauge: Gauge; readonly read: StatusFigure<R>[2] }[];
  readonly #states: StateSeries;

  constructor({ metrics, kind, plural, figures }: StatusMetricsOptions<R>) {
    this.#kind = kind;
    const labelNames = ['namespace', kind];
    this.#gauges = figures.map(([name, help, read]) => ({ gauge: metrics.gauge(name, help, labelNames), read }));
    this.#states = new StateSeries({ metrics, kind, plural, onHidden: (key) => this.#hide(key) });
  }

  measure(resource: R): void {
    const { namespace, name } = resource.metadata;
    const status: StatusOf<R> | undefined = resource.status ?? undefined;
    if (!status || !this.#states.measure({ namespace, name }, status.conditions)) return;
    for (const { gauge, read } of this.#gauges) {
      const value = read(status, resource);
      const labels = this.#labelsOf(resource.metadata);
      if (value === undefined) gauge.remove(labels);
      else gauge.set(labels, value);
    }
  }

  /** Removes all series when another process leads. The same series from two processes would cause two alerts. */
  clear(): void {
    this.#states.clear();
  }

  forget(key: ResourceKey): void {
    this.#states.forget(key);
  }

  #hide(key: ResourceKey): void {
    for (const { gauge } of this.#gauges) gauge.remove(this.#labelsOf(key));
  }

  #labelsOf({ namespace, name }: ResourceKey) {
    return { namespace, [this.#kind]: name };
  }
}
