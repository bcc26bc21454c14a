/**
 * Interface for metrics. Tests can read the metrics without Prometheus.
 *
 * Metric names end in a base unit or `_total`. Labels have few distinct values, and never contain ids or collector
 * names.
 */

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(labels: Labels, amount?: number): void;
}

export interface Gauge {
  set(labels: Labels, value: number): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

/** One series of a metric: its labels with their values, and the value of the series. */
export type Sample = readonly [labels: Labels, value: number];

export interface Metrics {
  counter(name: string, help: string, labelNames: readonly string[]): Counter;
  gauge(name: string, help: string, labelNames: readonly string[]): Gauge;
  /**
   * Creates a gauge. `read` is called at each scrape and returns the series of the gauge. If several callers create the
   * same gauge, all their series are exported, and series with equal labels are summed.
   *
   * During one scrape, all calls of `read` get the same object `scrape`. Gauges can use this object as the key of a
   * cache.
   */
  observedGauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: (scrape: object) => Iterable<Sample>,
  ): void;
  /** Creates a histogram. `buckets` contains upper bounds, in the unit that the histogram's name ends with. */
  histogram(name: string, help: string, labelNames: readonly string[], buckets: readonly number[]): Histogram;
}

export const noMetrics: Metrics = {
  counter: () => ({ add() {} }),
  gauge: () => ({ set() {} }),
  observedGauge() {},
  histogram: () => ({ observe() {} }),
};
