/**
 * Implements metrics on prom-client with its own registry. Registering an existing name returns the existing metric, so
 * several controllers share a metric and differ by labels. Only `logfleet run` loads this module.
 */
import {
  collectDefaultMetrics,
  Counter as PrometheusCounter,
  Gauge as PrometheusGauge,
  Histogram as PrometheusHistogram,
  Registry,
} from 'prom-client';
import { assert } from './assert.ts';
import type { Counter, Gauge, Histogram, Metrics } from './metrics.ts';

/** Sampling interval of the event-loop delay in ms. The default of 10 ms would use most of the CPU time of an idle operator. */
const loopPrecisionMs = 500;

type AnyMetric = PrometheusCounter | PrometheusGauge | PrometheusHistogram;

export class PrometheusMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #metrics = new Map<string, AnyMetric>();

  /** Adds metrics about the process itself: memory, CPU, and delay of the event loop. */
  collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: loopPrecisionMs });
  }

  /** Value of the `Content-Type` header with which the metrics are served. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Renders all metrics in the Prometheus text format. */
  render(): Promise<string> {
    return this.#registry.metrics();
  }

  counter(name: string, help: string, labelNames: readonly string[]): Counter {
    const counter = this.#metric(
      name,
      PrometheusCounter,
      () => new PrometheusCounter({ name, help, labelNames: [...labelNames], registers: [this.#registry] }),
    );
    return { add: (labels, amount = 1) => counter.inc(labels, amount) };
  }

  gauge(name: string, help: string, labelNames: readonly string[]): Gauge {
    const gauge = this.#metric(
      name,
      PrometheusGauge,
      () => new PrometheusGauge({ name, help, labelNames: [...labelNames], registers: [this.#registry] }),
    );
    return { set: (labels, value) => gauge.set(labels, value), remove: (labels) => gauge.remove(labels) };
  }

  histogram(name: string, help: string, labelNames: readonly string[], buckets: readonly number[]): Histogram {
    const histogram = this.#metric(
      name,
      PrometheusHistogram,
      () =>
        new PrometheusHistogram({
          name,
          help,
          labelNames: [...labelNames],
          buckets: [...buckets],
          registers: [this.#registry],
        }),
    );
    return { observe: (labels, value) => histogram.observe(labels, value) };
  }

  #metric<M extends AnyMetric>(name: string, kind: new (...options: never[]) => M, create: () => M): M {
    const existing = this.#metrics.get(name);
    assert(existing === undefined || existing instanceof kind, `metric ${name} is asked for as two different types`);
    const metric = (existing as M | undefined) ?? create();
    this.#metrics.set(name, metric);
    return metric;
  }
}
