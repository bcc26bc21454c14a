/** Tests the metrics of a schedule. */
import { expect, test } from 'vitest';
import type { SearchExportSchedule } from '../../../src/api/kinds.ts';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { measureSchedules } from '../../../src/schedule/schedule-metrics.ts';

const conditions = [{ type: 'Ready', status: 'True', reason: 'UpToDate', message: 'x', lastTransitionTime: 'x' }];

function world() {
  const registry = new PrometheusMetrics();
  let schedules: readonly SearchExportSchedule[] = [];
  measureSchedules(registry, () => schedules);
  return async (status: object) => {
    const schedule = {
      metadata: { namespace: 'logging', name: 'hourly' },
      spec: { template: { spec: { settleDelay: '10m' } } },
      status: { conditions, ...status },
    };
    schedules = [schedule as unknown as SearchExportSchedule];
    const text = await registry.render();
    const value = (name: string) => new RegExp(`^logfleet_schedule_${name}\\{.*\\} (\\d+)$`, 'm').exec(text)?.[1];
    return [value('covered_timestamp_seconds'), value('covered_seconds'), value('due_timestamp_seconds')];
  };
}

const seconds = (time: string) => String(Date.parse(time) / 1_000);
const run = (to: string, state: string) => ({ name: to, from: to, to, state });

test('shows covered time, and when the oldest active run could export its last row', async () => {
  const values = await world()({
    summary: { lagSince: '2026-11-01T05:00:00Z' },
    covered: [
      { from: '2026-11-01T00:00:00Z', to: '2026-11-01T05:00:00Z' },
      { from: '2026-11-01T06:00:00Z', to: '2026-11-01T07:00:00Z' },
    ],
    runs: [
      run('2026-11-01T08:00:00Z', 'Active'),
      run('2026-11-01T06:00:00Z', 'Active'),
      run('2026-11-01T05:00:00Z', 'Complete'),
    ],
  });
  expect(values).toEqual([seconds('2026-11-01T05:00:00Z'), String(6 * 3_600), seconds('2026-11-01T06:10:00Z')]);
});

test('the series of a value that no longer exists ends', async () => {
  const measure = world();
  await measure({
    summary: { lagSince: '2026-11-01T05:00:00Z' },
    covered: [],
    runs: [run('2026-11-01T06:00:00Z', 'Active')],
  });
  expect(await measure({ summary: {}, covered: [], runs: [] })).toEqual([undefined, '0', undefined]);
});
