/**
 * Tests the metrics that show the status of resources. Only a limited number of resources have their own series (C3).
 */
import { expect, test } from 'vitest';
import type { Condition } from '../../../src/api/conditions.ts';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { type MeasuredResource, maxShown, measureStatuses } from '../../../src/controller/status-metrics.ts';

function condition(type: string, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: 'x', lastTransitionTime: '2026-11-01T00:00:00Z' };
}

const ready = [condition('Ready', 'True', 'Exported')];
const stalled = [condition('Ready', 'False', 'SecretNotFound'), condition('Stalled', 'True', 'SecretNotFound')];
const atWork = [condition('Ready', 'False', 'Exporting'), condition('Reconciling', 'True', 'Exporting')];

class MetricsWorld {
  readonly metrics = new PrometheusMetrics();
  readonly resources = new Map<string, MeasuredResource>();
  listed = 0;

  constructor() {
    const resources = () => {
      this.listed++;
      return this.resources.values();
    };
    const figures = [['logfleet_export_conditions', 'x', countConditions]] as const;
    measureStatuses({ metrics: this.metrics, kind: 'export', plural: 'exports', figures, resources });
  }

  put(name: string, conditions: readonly Condition[] | undefined): void {
    const metadata = { namespace: 'logging', name };
    this.resources.set(name, { metadata, ...(conditions && { status: { conditions } }) });
  }

  fill(count: number, conditions: readonly Condition[] | undefined, prefix = 'export'): void {
    for (let index = 0; index < count; index++) this.put(`${prefix}-${index}`, conditions);
  }

  async lines(metric: string): Promise<string[]> {
    return (await this.metrics.render()).split('\n').filter((line) => line.startsWith(`${metric}{`));
  }

  async shown(metric = 'logfleet_export_state'): Promise<string[]> {
    return (await this.lines(metric)).map((line) => /export="([^"]*)"/.exec(line)?.[1] ?? '');
  }
}

function countConditions({ conditions = [] }: NonNullable<MeasuredResource['status']>): number {
  return conditions.length;
}

test('ten thousand resources are counted, and 200 of them have series', async () => {
  const world = new MetricsWorld();
  world.fill(10_000, ready);
  expect(await world.lines('logfleet_exports')).toEqual(['logfleet_exports{state="Ready",reason="Exported"} 10000']);
  expect(await world.shown()).toHaveLength(maxShown);
});

test('the most urgent resources have series, and the same resources in each metric', async () => {
  const world = new MetricsWorld();
  world.fill(1_000, ready);
  world.fill(maxShown - 2, stalled, 'stalled');
  world.fill(5, atWork, 'working');
  const shown = await world.shown();
  expect(shown.filter((name) => name.startsWith('stalled-'))).toHaveLength(maxShown - 2);
  expect(shown.slice(maxShown - 2)).toEqual(['working-0', 'working-1']);
  expect(await world.shown('logfleet_export_conditions')).toEqual(shown);
});

test.each([
  ['an export with unproven intervals', [condition('Ready', 'True', 'ExportedIncomplete')]],
  [
    'a resource with an internal error',
    [condition('Ready', 'False', 'InternalError'), condition('Reconciling', 'True', 'InternalError')],
  ],
])('%s has series, however many others are complete or at work', async (_, conditions) => {
  const world = new MetricsWorld();
  world.fill(maxShown, ready, 'complete');
  world.fill(maxShown, atWork, 'working');
  world.put('problem', conditions);
  expect(await world.shown()).toContain('problem');
});

test('a resource keeps its series until a more urgent resource needs it', async () => {
  const world = new MetricsWorld();
  world.fill(1_000, ready);
  const before = await world.shown();
  expect(await world.shown()).toEqual(before);
  world.put('export-999', stalled);
  const after = await world.shown();
  expect(after).toEqual(['export-999', ...before.slice(0, -1)]);
  world.put('export-999', ready);
  expect(await world.shown()).toEqual(before);
});

test('resources without a status and deleted resources have no series', async () => {
  const world = new MetricsWorld();
  world.fill(10, undefined);
  expect(await world.shown()).toEqual([]);
  world.fill(10, ready);
  expect(await world.shown()).toHaveLength(10);
  world.resources.clear();
  expect([...(await world.shown()), ...(await world.lines('logfleet_exports'))]).toEqual([]);
});

test('a scrape lists the resources once for all metrics', async () => {
  const world = new MetricsWorld();
  world.fill(10, ready);
  await world.metrics.render();
  expect(world.listed).toBe(1);
  await world.metrics.render();
  expect(world.listed).toBe(2);
});
