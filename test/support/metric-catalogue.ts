/** Lists the metrics of a running operator: names, types and labels. */
import type { Metrics } from '../../src/base/metrics.ts';
import { noMetrics } from '../../src/base/metrics.ts';
import { World } from './world.ts';

export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

/** Collects the definitions of metrics. Values of the metrics are ignored. */
class Catalogue implements Metrics {
  readonly definitions = new Map<string, MetricDefinition>();

  counter(name: string, help: string, labels: readonly string[]) {
    this.definitions.set(name, { type: 'counter', help, labels });
    return noMetrics.counter(name, help, labels);
  }

  gauge(name: string, help: string, labels: readonly string[]) {
    this.definitions.set(name, { type: 'gauge', help, labels });
    return noMetrics.gauge(name, help, labels);
  }

  observedGauge(name: string, help: string, labels: readonly string[]): void {
    this.definitions.set(name, { type: 'gauge', help, labels });
  }

  histogram(name: string, help: string, labels: readonly string[], buckets: readonly number[]) {
    this.definitions.set(name, { type: 'histogram', help, labels });
    return noMetrics.histogram(name, help, labels, buckets);
  }
}

/** Starts an operator. Returns the definitions of all metrics that it has after its first requests, by name. */
export async function metricDefinitions(): Promise<ReadonlyMap<string, MetricDefinition>> {
  const world = new World({ scenario: { builds: ['19.100-1'] } });
  const metrics = new Catalogue();
  world.addSecret();
  world.addPolicy('production', { target: { version: '19.100-1' } });
  world.start({ metrics, leaderElection: true });
  await world.clock.advance(60_000);
  for (const replica of [...world.replicas]) replica.kill();
  return metrics.definitions;
}
