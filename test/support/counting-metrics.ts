/**
 * Metrics in memory. The sum of a counter and the last value of a gauge are indexed by name and labels. The definition
 * of a metric is indexed by name.
 */
import type { Labels, Metrics, Sample } from '../../src/base/metrics.ts';

export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

export class CountingMetrics implements Metrics {
  readonly definitions = new Map<string, MetricDefinition>();
  readonly values = new Map<string, number>();
  readonly observations = new Map<string, number[]>();
  readonly #observed: { readonly name: string; readonly read: (scrape: object) => Iterable<Sample> }[] = [];

  counter(name: string, help: string, labelNames: readonly string[]) {
    this.#define('counter', name, help, labelNames);
    return {
      add: (labels: Labels, amount = 1) => {
        const key = series(name, labels);
        this.values.set(key, (this.values.get(key) ?? 0) + amount);
      },
    };
  }

  gauge(name: string, help: string, labelNames: readonly string[]) {
    this.#define('gauge', name, help, labelNames);
    return {
      set: (labels: Labels, value: number) => {
        this.values.set(series(name, labels), value);
      },
    };
  }

  observedGauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: (scrape: object) => Iterable<Sample>,
  ): void {
    this.#define('gauge', name, help, labelNames);
    this.#observed.push({ name, read });
  }

  observed(): ReadonlyMap<string, number> {
    const scrape = {};
    const samples = this.#observed.flatMap(({ name, read }) =>
      [...read(scrape)].map(([labels, value]) => [series(name, labels), value] as const),
    );
    return new Map(samples);
  }

  histogram(name: string, help: string, labelNames: readonly string[]) {
    this.#define('histogram', name, help, labelNames);
    return {
      observe: (labels: Labels, value: number) => {
        const key = series(name, labels);
        this.observations.set(key, [...(this.observations.get(key) ?? []), value]);
      },
    };
  }

  #define(type: MetricDefinition['type'], name: string, help: string, labels: readonly string[]): void {
    this.definitions.set(name, { type, help, labels });
  }
}

function series(name: string, labels: Labels): string {
  return `${name}{${Object.values(labels).join(',')}}`;
}
