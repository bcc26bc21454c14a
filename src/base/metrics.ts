/**
 * Interface for metrics. Code that counts events does not depend on Prometheus, so tests can read the counts.
 *
 * Names of metrics end in a base unit or `_total`. Labels have few values, such as a state, an operation or an outcome.
 * They never contain ids, names of collectors or numbers.
 */

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(labels: Labels, amount?: number): void;
}

export interface Gauge {
  set(labels: Labels, value: number): void;
  /** Removes the values of a metric for these labels, for example after a resource was deleted. */
  remove(labels: Labels): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

/** Label values of a series, and its value. */
export type Sample = readonly [labels: Labels, value: number];

export interface Metrics {
  counter(name: string, help: string, labelNames: readonly string[]): Counter;
  gauge(name: string, help: string, labelNames: readonly string[]): Gauge;
  /**
   * Creates a gauge. At each scrape, `read` returns its series. All gauges get the same object `scrape` during one scrape. If
   * several callers create the same gauge, each caller adds its own series, and values with equal labels are summed.
   */
  observedGauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: (scrape: object) => Iterable<Sample>,
  ): void;
  /**
   * Creates a histogram. `buckets` are the upper bounds of its buckets, in the unit that the metric's name contains.
   */
  histogram(name: string, help: string, labelNames: readonly string[], buckets: readonly number[]): Histogram;
}

export const noMetrics: Metrics = {
  counter: () => ({ add() {} }),
  gauge: () => ({ set() {}, remove() {} }),
  observedGauge() {},
  histogram: () => ({ observe() {} }),
};
