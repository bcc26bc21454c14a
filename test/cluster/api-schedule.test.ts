/** Tests the schedule CRD: the columns of `kubectl get`, the status, and the rules for changing fields. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { SearchExportScheduleStatus } from '../../src/api/generated/search-export-schedule.ts';
import { callApi, createNamespace, kubectl } from '../support/control-plane.ts';

const now = '2026-11-21T10:00:00Z';
const runSpec = {
  credentialsSecretRef: { name: 'log-service' },
  query: 'error',
  byReceiptTime: true,
  destination: { volume: { name: 'exports' } },
};
const long = (length: number) => 'x'.repeat(length);
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

let namespace: string;
let schedules: string;

beforeAll(async () => {
  namespace = await createNamespace('schedules');
  schedules = `/apis/logfleet.dev/v1alpha1/namespaces/${namespace}/searchexportschedules`;
});

async function createSchedule(name: string): Promise<object> {
  const spec = { schedule: '0 * * * *', template: { spec: runSpec } };
  const body = { apiVersion: 'logfleet.dev/v1alpha1', kind: 'SearchExportSchedule', metadata: { name }, spec };
  const response = await callApi('POST', schedules, body);
  expect(response.status).toBe(201);
  return response.body;
}

async function writeStatus(name: string, schedule: object, status: SearchExportScheduleStatus) {
  return callApi('PUT', `${schedules}/${name}/status`, { ...schedule, status });
}

describe('kubectl get sxs', () => {
  test.each([
    ['continues', { lagSince: '2026-01-01T00:00:00Z' }, /^continues +0 \* \* \* \* +UpToDate +1 +2 +\d+d +[\dms]+$/],
    ['ended', {}, /^ended +0 \* \* \* \* +UpToDate +1 +2 +[\dms]+$/],
  ])('shows the columns of a schedule that %s', async (name, lag, expected) => {
    const schedule = await createSchedule(name);
    const summary = { state: 'UpToDate', active: 1, failedRuns: 2, ...lag };
    expect((await writeStatus(name, schedule, { summary })).status).toBe(200);
    const { stdout } = await kubectl(['get', 'sxs', name, '-n', namespace]);
    const [header = '', row = ''] = stdout.trim().split('\n');
    expect(header.split(/\s{2,}/)).toEqual(['NAME', 'SCHEDULE', 'STATE', 'ACTIVE', 'GAPS', 'LAG', 'AGE']);
    expect(row.trim()).toMatch(expected);
  });
});

test('a status is stored completely at the maximum size allowed by its schema, below 300 KB', async () => {
  const schedule = await createSchedule('largest');
  const span = { from: now, to: now };
  const count = 1_000_000_000_000;
  const status: SearchExportScheduleStatus = {
    observedGeneration: 1,
    lastHandledReconcileAt: long(256),
    summary: { state: long(64), active: 10, failedRuns: 100, lagSince: now },
    ...{ startTime: now, coveredUntil: now, lastScheduleTime: now, nextScheduleTime: now, pendingRuns: 1_000 },
    covered: many(100, () => span),
    gaps: many(100, () => ({ ...span, run: long(253), reason: long(64) })),
    runs: many(50, () => ({
      ...span,
      ...{ name: long(253), state: 'Complete', rows: count, bytes: count, manifest: long(2048) },
    })),
    conditions: (['Ready', 'Stalled', 'Outage'] as const).map((type) => {
      return { type, status: 'True', reason: 'RunsFailed', message: long(1024), lastTransitionTime: now };
    }),
  };
  const response = await writeStatus('largest', schedule, status);
  expect(response.body.message).toBeUndefined();
  expect(response.body.status).toEqual(status);
  expect(JSON.stringify(status).length).toBeLessThan(300_000);
});

test.each([
  ['refuses another destination', { destination: { volume: { name: 'others' } } }, 422],
  ['accepts another query', { query: 'warning' }, 200],
])('an update of the template %s', async (name, change, status) => {
  const id = name.replaceAll(' ', '-');
  await createSchedule(id);
  const patch = { contentType: 'application/merge-patch+json' };
  const response = await callApi('PATCH', `${schedules}/${id}`, { spec: { template: { spec: change } } }, patch);
  expect(response.status).toBe(status);
});
