/** Tests a running operator's metric names and help texts with promtool. */
import { expect, test } from 'vitest';
import { PrometheusMetrics } from '../../src/base/prometheus-metrics.ts';
import { World } from '../support/world.ts';
import { promtool } from './promtool.ts';

test('the metrics of an operator with a rollout follow the conventions of Prometheus', async () => {
  const world = new World({
    scenario: { groups: { linux: { count: 20, version: '19.100-1' } }, builds: ['19.200-1'] },
  });
  const metrics = new PrometheusMetrics();
  metrics.collectProcessMetrics();
  world.addSecret();
  world.addPolicy('production', { target: { version: '19.200-1' } });
  world.start({ metrics, leaderElection: true });
  expect(await world.until(() => world.ready('production')?.reason === 'AllUpdated', 3_600_000)).toBe(true);
  const text = await metrics.render();
  expect(text).toContain('logfleet_upgrade_attempts_total{outcome="updated"} 20');
  expect(await promtool(['check', 'metrics'], text)).toEqual({ status: 0, output: '' });
});

test('promtool reports a counter without the suffix _total', async () => {
  const { status, output } = await promtool(['check', 'metrics'], '# HELP a_b A.\n# TYPE a_b counter\na_b 1\n');
  expect([status, output]).toEqual([3, expect.stringContaining('counter metrics should have "_total" suffix')]);
});
