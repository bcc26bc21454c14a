/** Lists a running operator's metrics: names, types and labels. */
import { CountingMetrics, type MetricDefinition } from './counting-metrics.ts';
import { World } from './world.ts';

/** Starts an operator. Returns the definitions, by name, of all metrics that it has after its first requests. */
export async function metricDefinitions(): Promise<ReadonlyMap<string, MetricDefinition>> {
  const world = new World({ scenario: { builds: ['19.100-1'] } });
  const metrics = new CountingMetrics();
  world.addSecret();
  world.addPolicy('production', { target: { version: '19.100-1' } });
  world.start({ metrics, leaderElection: true });
  await world.clock.advance(60_000);
  for (const replica of [...world.replicas]) replica.kill();
  return metrics.definitions;
}
