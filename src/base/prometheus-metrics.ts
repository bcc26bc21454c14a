/** Implements the metrics with prom-client. Registering the same name again returns the existing metric. */
import {
  collectDefaultMetrics,
  Counter as PrometheusCounter,
  Gauge as PrometheusGauge,
  Histogram as PrometheusHistogram,
  Registry,
} from 'prom-client';
import { assert } from './assert.ts';
import type { Counter, Gauge, Histogram, Metrics, Sample } from './metrics.ts';

/** Sampling interval of the event-loop delay in ms. The default of prom-client, 10 ms, costs a lot of CPU time. */
const loopPrecisionMs = 500;

/** Gauges of prom-client that are not exported. Their names end in `_total`, which Prometheus reserves for counters. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: number[];
  /** Computes and sets the values of a gauge. Called at each scrape. */
  readonly collect?: () => void;
  readonly registers: Registry[];
}

export class PrometheusMetrics implements Metrics {
  readonly #registry = new Registry();
  /** Object that identifies the current scrape. The method `render` replaces it at each scrape. */
  #scrape: object = {};
  /** Functions that return the series of each gauge, indexed by the gauge's name. */
  readonly #readers = new Map<string, ((scrape: object) => Iterable<Sample>)[]>();

  /** Adds metrics about the process: memory, CPU, and event-loop delay. */
  collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: loopPrecisionMs });
    for (const name of misnamed) this.#registry.removeSingleMetric(name);
  }

  /** `Content-Type` of the metrics. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Renders all metrics in the Prometheus text format. */
  render(): Promise<string> {
    this.#scrape = {};
    return this.#registry.metrics();
  }

  counter(name: string, help: string, labelNames: readonly string[]): Counter {
    const counter = this.#metric(PrometheusCounter, { name, help, labelNames });
    return { add: (labels, amount = 1) => counter.inc(labels, amount) };
  }

  gauge(name: string, help: string, labelNames: readonly string[]): Gauge {
    const gauge = this.#metric(PrometheusGauge, { name, help, labelNames });
    return { set: (labels, value) => gauge.set(labels, value) };
  }

  observedGauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: (scrape: object) => Iterable<Sample>,
  ): void {
    const readers = this.#readers.get(name) ?? [];
    this.#readers.set(name, [...readers, read]);
    if (readers.length > 0) return;
    const collect = () => {
      gauge.reset();
      for (const reader of this.#readers.get(name) ?? []) {
        for (const [labels, value] of reader(this.#scrape)) gauge.inc(labels, value);
      }
    };
    const gauge = this.#metric(PrometheusGauge, { name, help, labelNames, collect });
  }

  histogram(name: string, help: string, labelNames: readonly string[], buckets: readonly number[]): Histogram {
    const histogram = this.#metric(PrometheusHistogram, { name, help, labelNames, buckets: [...buckets] });
    return { observe: (labels, value) => histogram.observe(labels, value) };
  }

  #metric<M extends object>(kind: new (options: MetricOptions) => M, options: Omit<MetricOptions, 'registers'>): M {
    const existing: unknown = this.#registry.getSingleMetric(options.name);
    if (existing === undefined) return new kind({ ...options, registers: [this.#registry] });
    assert(existing instanceof kind, `metric ${options.name} is registered twice, with two different metric types`);
    return existing;
  }
}
