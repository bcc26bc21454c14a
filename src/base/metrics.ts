/**
 * Metrics as a port, so that layers count without knowing Prometheus and tests read what was counted.
 *
 * Names end in a base unit or `_total`. Labels have few values: a state, an operation, an outcome; never an id, a name of a
 * collector or a number.
 */

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(labels: Labels, amount?: number): void;
}

export interface Gauge {
  set(labels: Labels, value: number): void;
  /** Forgets the series of these labels, as when their resource is gone. */
  remove(labels: Labels): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

export interface Metrics {
  counter(name: string, help: string, labelNames: readonly string[]): Counter;
  gauge(name: string, help: string, labelNames: readonly string[]): Gauge;
  /** Buckets are upper bounds in the unit of the name. */
  histogram(name: string, help: string, labelNames: readonly string[], buckets: readonly number[]): Histogram;
}

export const noMetrics: Metrics = {
  counter: () => ({ add() {} }),
  gauge: () => ({ set() {}, remove() {} }),
  histogram: () => ({ observe() {} }),
};
