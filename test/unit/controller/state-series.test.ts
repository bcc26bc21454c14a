/**
 * Tests the metrics series for states of resources. All resources are counted, but only a limited number of resources has series
 * of its own (C3).
 */
import { expect, test } from 'vitest';
import type { Condition } from '../../../src/api/conditions.ts';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { maxShown, StateSeries } from '../../../src/controller/state-series.ts';

function condition(type: string, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: 'x', lastTransitionTime: '2026-11-01T00:00:00Z' };
}

const ready = [condition('Ready', 'True', 'Exported')];
const stalled = [condition('Ready', 'False', 'SecretNotFound'), condition('Stalled', 'True', 'SecretNotFound')];
const atWork = [condition('Ready', 'False', 'Exporting'), condition('Reconciling', 'True', 'Exporting')];

class World {
  readonly metrics = new PrometheusMetrics();
  readonly hidden: string[] = [];
  readonly series = new StateSeries({
    metrics: this.metrics,
    kind: 'export',
    plural: 'exports',
    onHidden: ({ name }) => this.hidden.push(name),
  });

  measure(name: string, conditions: readonly Condition[]): boolean {
    return this.series.measure({ namespace: 'logging', name }, conditions);
  }

  fill(count: number, conditions: readonly Condition[], prefix = 'export'): void {
    for (let index = 0; index < count; index++) this.measure(`${prefix}-${index}`, conditions);
  }

  async lines(metric: string): Promise<string[]> {
    return (await this.metrics.render()).split('\n').filter((line) => line.startsWith(`${metric}{`));
  }

  async shown(): Promise<string[]> {
    return (await this.lines('logfleet_export_state')).map((line) => /export="([^"]*)"/.exec(line)?.[1] ?? '');
  }
}

test('ten thousand resources are counted, and 200 of them have series', async () => {
  const world = new World();
  world.fill(10_000, ready);
  expect(await world.lines('logfleet_exports')).toEqual(['logfleet_exports{state="Ready",reason="Exported"} 10000']);
  expect(await world.shown()).toHaveLength(maxShown);
});

test('a stalled resource replaces a ready one', async () => {
  const world = new World();
  world.fill(1_000, ready);
  expect(world.measure('late', stalled)).toBe(true);
  const shown = await world.shown();
  expect(shown).toContain('late');
  expect(shown).toHaveLength(maxShown);
  expect(world.hidden).toHaveLength(1);
  expect(shown).not.toContain(world.hidden[0]);
});

test('a reconciling resource does not replace a stalled one', async () => {
  const world = new World();
  world.fill(maxShown, stalled);
  expect(world.measure('late', atWork)).toBe(false);
  expect(await world.shown()).not.toContain('late');
});

test('a free series goes to the most urgent resource without one', async () => {
  const world = new World();
  world.fill(maxShown, stalled, 'first');
  world.fill(10, ready, 'ready');
  world.measure('late', stalled);
  expect(await world.shown()).not.toContain('late');
  world.measure('first-0', ready);
  expect(await world.shown()).toContain('late');
  expect(world.hidden).toEqual(['first-0']);
  world.series.forget({ namespace: 'logging', name: 'first-1' });
  expect(await world.shown()).toHaveLength(maxShown);
});

test('resources that change and are deleted in any order leave no series', async () => {
  const world = new World();
  for (const conditions of [ready, stalled, atWork, ready]) world.fill(600, conditions);
  expect(await world.lines('logfleet_exports')).toEqual(['logfleet_exports{state="Ready",reason="Exported"} 600']);
  for (let index = 599; index >= 0; index--) world.series.forget({ namespace: 'logging', name: `export-${index}` });
  expect(await world.shown()).toEqual([]);
  expect(await world.lines('logfleet_exports')).toEqual([]);
});

test('the series are removed when another process leads', async () => {
  const world = new World();
  world.fill(300, stalled);
  world.series.clear();
  expect([...(await world.shown()), ...(await world.lines('logfleet_exports'))]).toEqual([]);
  expect(new Set(world.hidden).size).toBe(300);
});
