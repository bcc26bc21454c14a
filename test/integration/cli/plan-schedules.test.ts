/** Tests `logfleet plan` for schedules: runs of the next day, their requests, and the share of the request rate. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runPlan, secret } from './plan-run.ts';

/** Logs of the simulated service. Its virtual clock starts at 2026-11-01. */
const scenario = {
  logs: { from: '2026-10-31T00:00:00Z', to: '2026-11-01T00:00:00Z', messages: 24_000 },
  search: { messageLimit: 10_000 },
};

const schedule = (spec = '') => `
apiVersion: logfleet.dev/v1alpha1
kind: SearchExportSchedule
metadata: {name: hourly, namespace: logging}
spec:
  schedule: 0 * * * *
${spec}
  template:
    spec:
      credentialsSecretRef: {name: log-service}
      query: _sourceCategory=*
      byReceiptTime: false
      settleDelay: 30m
      destination: {volume: {name: exports}}
`;

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'logfleet-plan-'));
});
afterEach(() => rm(folder, { recursive: true }));

const plan = (text: string, output: 'json' | 'table' = 'json') =>
  runPlan({ folder, scenario, texts: [secret, text], flags: { output } });

describe('a plan of a schedule', () => {
  test('multiplies the latest run whose data is complete by the runs of a day', async () => {
    const { status, stdout, jobs } = await plan(schedule());
    const [found] = JSON.parse(stdout).schedules;
    expect(found).toMatchObject({
      ...{ namespace: 'logging', name: 'hourly', runsPerDay: 24 },
      sample: { from: '2026-10-31T22:00:00Z', to: '2026-10-31T23:00:00Z' },
    });
    expect(found.sample.rows).toBeGreaterThan(800);
    expect(found.rowsPerDay).toBe(24 * found.sample.rows);
    expect(found.requestsPerDay).toBe(24 * found.sample.requests);
    expect(found.requestShare).toBeCloseTo(found.requestsPerDay / (4 * 86_400), 6);
    expect(status).toBe(0);
    expect(jobs.map(({ ended }) => ended)).toEqual(['deleted']);
  });

  test('counts no run after the end of the schedule', async () => {
    const { stdout } = await plan(schedule('  endTime: "2026-11-01T03:00:00"'));
    expect(JSON.parse(stdout).schedules).toMatchObject([{ runsPerDay: 3 }]);
  });

  test('is readable as text', async () => {
    const { stdout } = await plan(schedule(), 'table');
    expect(stdout).toMatch(/^logging\/hourly: 24 runs in the next 24 hours$/m);
    expect(stdout).toMatch(/^ +Sample: +2026-10-31T22:00:00Z to 2026-10-31T23:00:00Z, one run$/m);
  });
});
