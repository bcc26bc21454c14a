/** Tests `logfleet plan` for schedules: their runs and requests. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SearchExportScheduleStatus } from '../../../src/api/generated/search-export-schedule.ts';
import type { SearchExportSchedule } from '../../../src/api/kinds.ts';
import { parseDuration } from '../../../src/base/duration.ts';
import { nowhere, type PlanPlace } from '../../../src/cli/plan/plan-place.ts';
import { decodeManifest } from '../../../src/host/directory/manifest-decoding.ts';
import { runPlan, secret } from './plan-run.ts';

/** Scenario for the simulated service. Its clock starts at 2026-11-01, and it has messages for the previous day. */
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

interface SchedulePlanSetting {
  readonly output?: 'json' | 'table' | 'markdown';
  readonly exitCode?: boolean;
  /** Status of the existing schedule. */
  readonly status?: SearchExportScheduleStatus;
}

function plan(text: string, { output = 'json', exitCode = false, status }: SchedulePlanSetting = {}) {
  const metadata = { name: 'hourly', namespace: 'logging', uid: 'a', creationTimestamp: '2026-10-01T00:00:00Z' };
  const [resource] = decodeManifest('schedule.yaml', schedule(), () => undefined).resources;
  const found =
    status && ({ kind: 'SearchExportSchedule', metadata, spec: resource?.spec, status } as SearchExportSchedule);
  const place = { ...nowhere, find: (async () => found) as PlanPlace['find'] };
  return runPlan({ folder, scenario, texts: [secret, text], flags: { output, exitCode }, open: async () => place });
}

async function documentOf(text: string, setting: SchedulePlanSetting = {}) {
  const { stdout, ...rest } = await plan(text, setting);
  const { schedules, changes } = JSON.parse(stdout);
  return { ...rest, changes, found: schedules[0] };
}

/** Value of `status.covered` of a schedule that has exported all of 2026-10-31 except one hour. */
const covered = [
  { from: '2026-10-31T00:00:00Z', to: '2026-10-31T10:00:00Z' },
  { from: '2026-10-31T11:00:00Z', to: '2026-11-01T00:00:00Z' },
];

describe('a plan of a schedule', () => {
  test('multiplies the figures of the latest run with complete data by the number of runs per day', async () => {
    const { status, found, jobs } = await documentOf(schedule());
    expect(found).toMatchObject({
      ...{ namespace: 'logging', name: 'hourly', runsPerDay: 23 },
      sample: { from: '2026-10-31T22:00:00Z', to: '2026-10-31T23:00:00Z' },
    });
    expect(found.sample.rows).toBeGreaterThan(800);
    expect(found.rowsPerDay).toBe(23 * found.sample.rows);
    expect(found.requestsPerDay).toBe(23 * found.sample.requests);
    expect(found.requestShare).toBeCloseTo((24 * found.sample.requests) / (4 * 86_400), 6);
    expect(status).toBe(0);
    expect(jobs.map(({ ended }) => ended)).toEqual(['deleted']);
  });

  test('counts no run after the end of the schedule', async () => {
    const { found } = await documentOf(schedule('  endTime: "2026-11-01T03:00:00"'));
    expect(found).toMatchObject({ runsPerDay: 3, nextRun: '2026-11-01T01:30:00Z' });
  });

  test('counts a last run that ends between two ticks', async () => {
    const { found } = await documentOf(schedule('  endTime: "2026-11-01T03:30:00"'));
    expect(found).toMatchObject({ runsPerDay: 4 });
  });

  test('counts no run before the start of the schedule', async () => {
    const { found } = await documentOf(schedule('  startTime: "2026-11-01T20:00:00"'));
    expect(found).toMatchObject({ runsPerDay: 3, pendingRuns: 0, nextRun: '2026-11-01T21:30:00Z' });
    expect(found.backfill).toBeUndefined();
  });

  test.each([
    ['no startTime', '', '2026-10-31T22:00:00Z', '2026-10-31T23:00:00Z', true],
    [
      'startTime in the past',
      '  startTime: "2026-10-31T00:00:00"',
      '2026-10-31T22:00:00Z',
      '2026-10-31T23:00:00Z',
      false,
    ],
    [
      'startTime in the future',
      '  startTime: "2026-11-02T00:00:00"',
      '2026-10-31T22:00:00Z',
      '2026-10-31T23:00:00Z',
      true,
    ],
    [
      'endTime in the past',
      '  startTime: "2026-10-31T00:00:00"\n  endTime: "2026-10-31T12:00:00"',
      '2026-10-31T11:00:00Z',
      '2026-10-31T12:00:00Z',
      false,
    ],
    [
      'a last run that is shorter',
      '  startTime: "2026-10-31T00:00:00"\n  endTime: "2026-10-31T12:15:00"',
      '2026-10-31T11:00:00Z',
      '2026-10-31T12:00:00Z',
      false,
    ],
    [
      'one run that is shorter than an hour',
      '  startTime: "2026-10-31T10:15:00"\n  endTime: "2026-10-31T10:45:00"',
      '2026-10-31T10:15:00Z',
      '2026-10-31T10:45:00Z',
      false,
    ],
  ])('measures a run within startTime and endTime if there is one: %s', async (_, spec, from, to, isOlder) => {
    const { found } = await documentOf(schedule(spec));
    expect(found.sample).toMatchObject({ from, to, isOlder });
  });

  test.each([
    // By default, two runs are active at the same time. Each run has one worker, which sends one request per second.
    [{ workers: 1 }, 2],
    // A run with two workers uses two of the three shares of the request rate, so one share is left for a second run.
    [{ workers: 2 }, 3],
    [{ workers: 3 }, 3],
  ])('allows runs in Kubernetes Jobs only their shares of the request rate: %j', async (job, requestsPerSecond) => {
    const text = schedule('  startTime: "2026-10-29T00:00:00"');
    const { found: inOperator } = await documentOf(text);
    const inJobs = text.replace(
      'destination: {volume: {name: exports}}',
      `destination: {s3: {bucket: logs, region: eu-central-1}}\n      execution: {mode: Job, job: ${JSON.stringify(job)}}`,
    );
    const { found } = await documentOf(inJobs);
    expect(found.sample.requests).toBe(inOperator.sample.requests);
    expect(found.requestShare / inOperator.requestShare).toBeCloseTo(4 / requestsPerSecond, 3);
    const [inJobsMs = 0, inOperatorMs = 0] = [found, inOperator].map(({ backfill }) =>
      parseDuration(backfill.duration),
    );
    expect(inJobsMs).toBeGreaterThanOrEqual((71 * 8_000) / requestsPerSecond);
    expect(inJobsMs).toBeGreaterThan(inOperatorMs);
  });

  test('plans with the shares of small request limits, and reports limits that are too small', async () => {
    const text = schedule('  startTime: "2026-10-29T00:00:00"\n  maxActive: 4').replace(
      'destination: {volume: {name: exports}}',
      'destination: {s3: {bucket: logs, region: eu-central-1}}\n      execution: {mode: Job}',
    );
    const takes = async (limits: string) => {
      const texts = [secret.replace('stringData: {', `stringData: {${limits}, `), text];
      const { stdout } = await runPlan({ folder, scenario, texts });
      return stdout;
    };
    expect(await takes('maxConcurrentRequests: "10"')).toContain('3 runs at a time');
    const small = await takes('maxConcurrentRequests: "4"');
    expect(small).toContain('1 run at a time');
    expect(small).not.toContain('too low for a Kubernetes Job');
    expect(await takes('maxConcurrentRequests: "3"')).toContain('too low for a Kubernetes Job');
  });

  test('counts the runs between startTime and now as backfill', async () => {
    const { found, changes } = await documentOf(schedule('  startTime: "2026-10-29T00:00:00"'));
    expect(found).toMatchObject({ pendingRuns: 71, runsPerDay: 24 });
    expect(found.backfill).toMatchObject({ requests: 71 * found.sample.requests, rows: 71 * found.sample.rows });
    // A backfill of 71 runs with 8 requests each takes 142 s at four requests per second.
    expect(parseDuration(found.backfill.duration)).toBeGreaterThanOrEqual(142_000);
    expect(changes).toBe(true);
  });

  test('counts only the runs that the status of an existing schedule does not show as covered or failed', async () => {
    const spec = schedule('  startTime: "2026-10-30T21:00:00"');
    const gap = { from: '2026-10-30T21:00:00Z', to: '2026-10-30T22:00:00Z', run: 'a', reason: 'DeadlineExceeded' };
    const { found } = await documentOf(spec, { status: { covered, gaps: [gap] } });
    expect(found).toMatchObject({ pendingRuns: 3, failedRuns: 1 });
  });

  test('counts no run before coveredUntil, even if the list of covered time ranges lacks this time', async () => {
    const until = { startTime: '2026-10-01T00:00:00Z', coveredUntil: '2026-10-31T00:00:00Z' };
    const spec = schedule('  startTime: "2026-10-01T00:00:00"');
    const { found } = await documentOf(spec, { status: { ...until, covered } });
    expect(found).toMatchObject({ pendingRuns: 1 });
  });

  test('averages the request rate of a weekly schedule over weeks', async () => {
    const { found } = await documentOf(schedule().replace('0 * * * *', '0 0 * * 0'));
    expect(found.requestShare).toBeCloseTo(found.sample.requests / (4 * 7 * 86_400), 8);
    expect(found.runsPerDay).toBe(0);
  });

  test('is refused if it changes the destination of an existing schedule', async () => {
    const other = schedule().replace('{name: exports}', '{name: other}');
    const { status, stdout, stderr } = await plan(other, { output: 'table', status: {} });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^1\.yaml:\d+:\d+: spec\.template\.spec\.destination: cannot be changed, /);
  });

  test('needs no request for a schedule that has ended and is complete', async () => {
    const spec = schedule('  startTime: "2026-10-31T11:00:00"\n  endTime: "2026-10-31T23:30:00"');
    const { found, changes, status, journal } = await documentOf(spec, { exitCode: true, status: { covered } });
    expect([changes, status, journal]).toEqual([false, 0, []]);
    expect(found).toMatchObject({ pendingRuns: 0, runsPerDay: 0, notes: [] });
    expect(found.sample).toBeUndefined();
  });

  test.each([
    ['a schedule without end', '', {}, 1],
    [
      'a schedule that has ended, with runs to make',
      '  startTime: "2026-10-31T00:00:00"\n  endTime: "2026-10-31T23:30:00"',
      {},
      1,
    ],
    [
      'a schedule that has ended, with gaps only',
      '  startTime: "2026-10-31T00:00:00"\n  endTime: "2026-10-31T23:30:00"',
      { covered, gaps: [{ from: '2026-10-31T10:00:00Z', to: '2026-10-31T11:00:00Z', run: 'a', reason: 'b' }] },
      0,
    ],
  ])('ends with a status for changes: %s', async (_, spec, existing, status) => {
    expect(await plan(schedule(spec), { exitCode: true, status: existing })).toMatchObject({ status });
  });

  test('names what prevents runs', async () => {
    const { found } = await documentOf(schedule('  paused: true'));
    expect(found.notes).toHaveLength(1);
  });

  test('is readable as text', async () => {
    const { stdout } = await plan(schedule('  startTime: "2026-10-29T00:00:00"'), { output: 'table' });
    expect(stdout).toMatch(/^logging\/hourly: 71 runs due now, and 24 runs in the next 24 hours$/m);
    expect(stdout).toMatch(
      /^ +Sample: +2026-10-31T22:00:00Z to 2026-10-31T23:00:00Z, the latest run with complete data$/m,
    );
    expect(stdout).toMatch(/^ +Backfill: +71 runs, about [0-9,]+ rows and [0-9]+ requests/m);
    expect(stdout).toMatch(/^ +Takes: +about .* for the backfill, 2 runs at a time$/m);
  });

  test('names the command that repeats failed runs', async () => {
    const gaps = [{ from: '2026-10-31T10:00:00Z', to: '2026-10-31T11:00:00Z', run: 'a', reason: 'b' }];
    const { stdout } = await plan(schedule(), { output: 'table', status: { covered, gaps } });
    expect(stdout).toMatch(/Gaps: +1 failed run; to repeat failed runs: logfleet retry sxs\/hourly -n logging$/m);
  });

  test('says that a schedule has ended', async () => {
    const spec = schedule('  startTime: "2026-10-31T11:00:00"\n  endTime: "2026-10-31T23:30:00"');
    const { stdout } = await plan(spec, { output: 'table', status: { covered } });
    expect(stdout).toBe('logging/hourly: nothing to do, because the schedule has ended\n');
  });

  test.each(['2026-10-31T10:30:00', '2026-10-31T23:45:00'])(
    'says that endTime %s is not after the start',
    async (endTime) => {
      const text = schedule(`  endTime: "${endTime}"`);
      const note =
        'endTime is not after the start of the schedule (2026-11-01T00:00:00Z). To export older logs, set startTime.';
      expect((await documentOf(text)).found).toMatchObject({ runsPerDay: 0, pendingRuns: 0, notes: [note] });
      expect((await plan(text, { output: 'table' })).stdout).toMatch(
        /^logging\/hourly: no runs\n +But: +endTime is not /,
      );
      expect((await plan(text, { output: 'markdown' })).stdout).toContain('`logging/hourly`: no runs');
    },
  );
});
