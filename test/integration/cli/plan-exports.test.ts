/** Tests `logfleet plan` for exports: message counts, estimates and reported problems. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import type { SearchExport } from '../../../src/api/kinds.ts';
import { nowhere, openPlace, type PlanPlace } from '../../../src/cli/plan/plan-place.ts';
import { decodeManifest } from '../../../src/host/directory/manifest-decoding.ts';
import { MemoryExports } from '../../support/memory-exports.ts';
import { World } from '../../support/world.ts';
import { sampleExport } from '../../unit/cli/sample-export.ts';
import { type PlanSetting, runPlan, secret } from './plan-run.ts';

/** Scenario for the simulated service. Its clock starts at 2026-11-01, and it has messages for the previous day. */
const scenario: Scenario = {
  logs: { from: '2026-10-31T00:00:00Z', to: '2026-10-31T12:00:00Z', messages: 5_000 },
  search: { messageLimit: 1_000 },
};

function searchExport(spec = '', { query = '_sourceCategory=*', to = '2026-10-31T12:00:00Z' } = {}): string {
  return `
apiVersion: logfleet.dev/v1alpha1
kind: SearchExport
metadata: {name: errors, namespace: logging}
spec:
  credentialsSecretRef: {name: log-service}
  query: "${query}"
  timeRange: {from: "2026-10-31T00:00:00Z", to: "${to}"}
  destination: {volume: {name: exports}}
${spec}`;
}

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'logfleet-plan-'));
});
afterEach(() => rm(folder, { recursive: true }));

const plan = (text: string, setting: Partial<PlanSetting> = {}) =>
  runPlan({ folder, scenario, texts: [secret, text], ...setting });

async function chargedFor(spec: SearchExport['spec'], logs: Scenario): Promise<number> {
  const world = new World({ scenario: logs, exports: new MemoryExports().options });
  world.addSecret();
  world.addExport('errors', spec);
  world.start();
  const status = () => world.export('errors')?.status;
  expect(await world.until(() => status()?.manifest !== undefined, 3_600_000)).toBe(true);
  return status()?.progress?.bytesScanned ?? 0;
}

describe('the plan of an export', () => {
  test('counts rows, searches and requests, and closes all jobs', async () => {
    const { status, stdout, jobs } = await plan(searchExport());
    expect(status).toBe(0);
    expect(stdout).toMatch(/^logging\/errors: 5,000 rows$/m);
    expect(stdout).toMatch(/^ {2}Range: {5}2026-10-31 00:00 UTC to 2026-10-31 12:00 UTC$/m);
    expect(stdout).toMatch(/^ {2}Rows: {6}5,000 rows in 6 intervals$/m);
    expect(stdout).toMatch(/^ {2}Searches: {2}8 search jobs, 4 at once$/m);
    expect(stdout).toMatch(
      /^ {2}Proof: {5}by a digest, an aggregation that takes 4 requests and scans about \S+ \S+ \(included above\)$/m,
    );
    expect(stdout).toMatch(/^ {2}Requests: {2}about [23]\d requests at up to 4 a second$/m);
    expect(stdout).toMatch(/^ {2}Writes: {4}NDJSON with Gzip to volume exports$/m);
    expect(stdout).toContain('and 1 more; -o wide lists them');
    expect(jobs.filter(({ state }) => state === 'GATHERING RESULTS' || state === 'FORCE PAUSED')).toEqual([]);
  });

  test('needs only a few requests', async () => {
    const { journal } = await plan(searchExport());
    expect(journal.length).toBeLessThanOrEqual(10);
  });

  test('is a machine-readable document', async () => {
    const { stdout } = await plan(searchExport('  parallelism: 2'), { flags: { output: 'json' } });
    const document = JSON.parse(stdout);
    expect(document).toMatchObject({
      changes: true,
      policies: [],
      exports: [
        {
          namespace: 'logging',
          name: 'errors',
          complete: false,
          rows: 5_000,
          rowsAreKnown: true,
          jobs: 8,
          digest: { jobs: 1, requests: 4 },
          requests: { perSecond: 4 },
          notes: [],
        },
      ],
    });
    const { intervals } = document.exports[0];
    expect(intervals[0].from).toBe('2026-10-31T00:00:00.000Z');
    expect(intervals.at(-1).to).toBe('2026-10-31T12:00:00.000Z');
    const rows = intervals.map((interval: { rows: number }) => interval.rows);
    expect(rows.reduce((sum: number, count: number) => sum + count, 0)).toBe(5_000);
    expect(rows.filter((count: number) => count >= 1_000)).toEqual([]);
  });

  test('for a small range is one search', async () => {
    const { stdout } = await plan(searchExport('  proof: Count'), { scenario: { ...scenario, search: {} } });
    expect(stdout).toMatch(/^ {2}Rows: {6}5,000 rows in 1 interval$/m);
    expect(stdout).toMatch(/^ {2}Proof: {5}by the counts of its searches$/m);
    expect(stdout).toMatch(/^ {2}Searches: {2}1 search job$/m);
    // A search job takes four requests: creation, status, page and deletion.
    expect(stdout).toMatch(/^ {2}Requests: {2}about 4 requests at up to 4 a second$/m);
    expect(stdout).not.toContain('Intervals');
  });

  test('estimates the charged bytes', async () => {
    const world = { ...scenario, logs: { ...scenario.logs, messages: 20_000 } };
    const outlook = await plan(searchExport(), { scenario: world, flags: { output: 'json' } });
    const { bytesToScan } = JSON.parse(outlook.stdout).exports[0];
    const timeRange = { from: '2026-10-31T00:00:00Z', to: '2026-10-31T12:00:00Z' };
    const charged = await chargedFor({ ...sampleExport().spec, query: '_sourceCategory=*', timeRange }, world);
    expect(bytesToScan / charged).toBeGreaterThan(0.95);
    expect(bytesToScan / charged).toBeLessThan(1.05);
    const enough = await plan(searchExport(`  limits: {maxBytesScanned: "${Math.ceil(charged * 1.1)}"}`), {
      scenario: world,
    });
    expect(enough.stdout).not.toContain('But:');
    const little = await plan(searchExport(`  limits: {maxBytesScanned: "${Math.floor(charged * 0.9)}"}`), {
      scenario: world,
    });
    expect(little.stdout).toContain('stops the export before it is complete.');
  });

  test('is an estimate if one search finds a round number of rows, and includes the bytes of the digest', async () => {
    const world = { logs: { ...scenario.logs, messages: 30_000 }, search: {} };
    const { stdout } = await plan(searchExport(), { scenario: world });
    expect(stdout).toMatch(/^logging\/errors: about 30,\d{3} rows$/m);
    expect(stdout).toMatch(/^ {2}Rows: {6}about 30,\d{3} rows in 1 interval, estimated from the first search$/m);
    expect(stdout).toMatch(/and scans about \S+ \S+ \(included above\)$/m);
    expect(stdout).not.toContain('But:');
    const outlook = await plan(searchExport(), { scenario: world, flags: { output: 'json' } });
    const { bytesToScan, rowsAreKnown } = JSON.parse(outlook.stdout).exports[0];
    expect(rowsAreKnown).toBe(false);
    const timeRange = { from: '2026-10-31T00:00:00Z', to: '2026-10-31T12:00:00Z' };
    const charged = await chargedFor({ ...sampleExport().spec, query: '_sourceCategory=*', timeRange }, world);
    expect(bytesToScan / charged).toBeGreaterThan(0.95);
    expect(bytesToScan / charged).toBeLessThan(1.05);
  });

  test('is an estimate if one more search can find the rest, and includes this search', async () => {
    const { stdout, journal } = await plan(searchExport(), {
      scenario: { ...scenario, search: { messageLimit: 4_000 } },
    });
    expect(stdout).toMatch(/^ {2}Rows: {6}about [45],\d{3} rows in 2 intervals, estimated from the first search$/m);
    // Two searches and the digest.
    expect(stdout).toMatch(/^ {2}Searches: {2}3 search jobs, 3 at once$/m);
    expect(stdout).not.toContain('But:');
    expect(journal.filter(({ operation }) => operation === 'createJob')).toHaveLength(1);
  });

  test('of a service that cannot count rows says so', async () => {
    const refused = { kind: 'status', status: 400, code: 'parse.error', queries: ['*timeslice*'] } as const;
    const { stdout } = await plan(searchExport(), { scenario: { ...scenario, faults: { refused } } });
    expect(stdout).toMatch(/^ {2}Rows: {6}about \S+ rows in \d+ intervals, estimated from the first search$/m);
    expect(stdout).toContain('But:       The service cannot count the rows of this query in advance');
  });

  test('has a minimum of rows for a query that cannot be split', async () => {
    const { stdout } = await plan(searchExport('', { query: '* | limit 3000' }));
    expect(stdout).toMatch(/^ {2}Rows: {6}at least 1,000 rows in 1 interval$/m);
    expect(stdout).toMatch(/^ {2}Searches: {2}1 search job$/m);
  });

  test('of an aggregation counts records, to which the message limit does not apply', async () => {
    const logs = { ...scenario.logs, messages: 20_000 };
    const text = searchExport('  results: Records', { query: '* | count by _sourceHost' });
    const { stdout } = await plan(text, { scenario: { ...scenario, logs } });
    expect(stdout).toMatch(/^logging\/errors: 40 rows$/m);
    expect(stdout).toMatch(/^ {2}Requests: {2}about 4 requests /m);
    expect(stdout).toMatch(/^ {2}Scans: {5}about [78]\.\d MiB$/m);
    expect(stdout).not.toContain('But:');
  });

  test.each([429, 503])('waits for the time given in Retry-After after %d', async (code) => {
    const busy = { kind: 'status', status: code, operations: ['createJob'], times: 3, retryAfter: 5 } as const;
    const { status, stdout } = await plan(searchExport(), { scenario: { ...scenario, faults: { busy } } });
    expect([status, stdout]).toEqual([0, expect.stringContaining('logging/errors: 5,000 rows')]);
  });

  test('reports the error of an unavailable service, even after the timeout', async () => {
    const away = { kind: 'status', status: 503, operations: ['createJob'], retryAfter: 3_600 } as const;
    const { status, stderr } = await plan(searchExport(), { scenario: { ...scenario, faults: { away } } });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^logging\/errors: trying again: ServiceUnavailable: /),
    ]);
  });

  test('leaves unsettled data for later, without waiting', async () => {
    const late = searchExport('', { to: '2026-11-01T12:00:00Z' });
    const { stdout } = await plan(late);
    expect(stdout).toMatch(
      /Range: .* to 2026-10-31 23:5\d UTC; the remaining data, until 2026-11-01 12:00 UTC, is too new and is searched later$/m,
    );
  });

  test.each([
    ['half of the range', '2026-11-02T00:00:00Z', '_sourceCategory=*', '2026-11-01 00:03 UTC'],
    ['the whole range, if the query cannot be split', '2026-11-01T12:00:00Z', '* | limit 10', '2026-11-01 12:03 UTC'],
  ])('says that no search starts until %s is settled', async (_, to, query, time) => {
    const { stdout, journal } = await plan(searchExport('', { to, query }));
    const title = 'logging/errors: not enough of the data is older than settleDelay, so no search starts before';
    expect(stdout).toBe(`${title} ${time}\n`);
    expect(journal).toEqual([]);
  });

  test('says of a paused export with unsettled data that it will not start even then', async () => {
    const { stdout } = await plan(searchExport('  paused: true', { to: '2026-11-02T00:00:00Z' }));
    expect(stdout).toMatch(
      /so no search starts before 2026-11-01 00:03 UTC\n {2}But: {7}Paused by spec.paused: no search starts until this pause ends.$/m,
    );
  });

  test.each([
    [
      searchExport('', { query: '* | limit 3000' }),
      'The query cannot be split into several searches (the operator limit',
    ],
    [
      searchExport('  limits: {maxMessages: 4000}'),
      'But:       limits.maxMessages of 4000 rows stops the export before it is complete.',
    ],
    [
      searchExport('  limits: {maxMessages: 4500}'),
      'But:       limits.maxMessages of 4500 rows may stop the export before it is complete.',
    ],
    [
      searchExport('  activeDeadlineSeconds: 1'),
      'But:       The export needs more time than activeDeadlineSeconds allows, so it will fail at this deadline.',
    ],
    [searchExport('  paused: true'), 'But:       Paused by spec.paused: no search starts until this pause ends.'],
    [
      searchExport().replace('{name: errors, ', '{annotations: {logfleet.dev/paused: "true"}, name: errors, '),
      'But:       Paused by the annotation logfleet.dev/paused: no search starts until this pause ends.',
    ],
  ])('reports obstacles: %#', async (text, expected) => {
    expect((await plan(text)).stdout).toContain(expected);
  });

  test.each([
    [searchExport(), true, 1],
    [searchExport(), false, 0],
    [searchExport('', { query: 'a | where' }), true, 2],
  ])('ends with a status for changes: %#', async (text, exitCode, status) => {
    expect(await plan(text, { flags: { exitCode } })).toMatchObject({ status });
  });

  /** Plans the manifest `text` as if the export `searchExport(spec)` already existed with this status. */
  async function planOver(status: SearchExport['status'], text: string, { spec = '', flags = {} } = {}) {
    const [resource] = decodeManifest('errors.yaml', searchExport(spec), () => undefined).resources;
    const { metadata } = sampleExport();
    const existing = { kind: 'SearchExport', metadata, spec: resource?.spec, status } as SearchExport;
    const place = { ...nowhere, find: (async () => existing) as PlanPlace['find'] };
    return await plan(text, { flags, open: async () => place });
  }

  const condition = { status: 'True', lastTransitionTime: '', observedGeneration: 1 } as const;

  test('of a complete export has nothing to do', async () => {
    const conditions = [{ ...condition, type: 'Complete', reason: 'Exported', message: '' }];
    const { status, stdout, journal } = await planOver({ conditions }, searchExport(), { flags: { exitCode: true } });
    expect([status, stdout]).toEqual([0, 'logging/errors: nothing to do, because it is complete\n']);
    expect(journal).toEqual([]);
  });

  test.each(['table', 'markdown'] as const)(
    'is refused if it changes the query of an existing export: %s',
    async (output) => {
      const conditions = [{ ...condition, type: 'Complete', reason: 'Exported', message: '' }];
      const text = searchExport('', { query: 'error' });
      const { status, stdout, stderr, journal } = await planOver({ conditions }, text, { flags: { output } });
      expect([status, journal]).toEqual([2, []]);
      const problem = /1\.yaml:7:10: spec\.query: cannot be changed, /;
      expect(stderr).toMatch(problem);
      if (output === 'markdown') expect(stdout).toMatch(problem);
      else expect(stdout).toBe('');
    },
  );

  test('says that a failed export does not run again without a new spec or a retry', async () => {
    const conditions = [
      { ...condition, type: 'Failed', reason: 'DeadlineExceeded', message: 'The deadline has passed.' },
    ];
    const spec = '  activeDeadlineSeconds: 60';
    const existing = { startTime: '2026-10-31T23:00:00Z', conditions };
    const failed = await planOver(existing, searchExport(spec), { spec });
    expect(failed.stdout).toContain('so no search starts: The deadline has passed.');
    const raised = await planOver(existing, searchExport('  activeDeadlineSeconds: 86400'), { spec });
    expect(raised.stdout).not.toContain('But:');
    // The annotation requests a retry, which permits new searches. The deadline is still too short for these searches.
    const requested = searchExport(spec).replace(
      '{name: errors,',
      '{name: errors, annotations: {logfleet.dev/requestedAt: now},',
    );
    const retried = await planOver(existing, requested, { spec });
    expect(retried.stdout).toContain('The export needs more time than activeDeadlineSeconds allows');
    const handled = { ...existing, lastHandledReconcileAt: 'now' };
    expect((await planOver(handled, requested, { spec })).stdout).toContain('so no search starts');
  });

  test('counts activeDeadlineSeconds from the start of an existing export', async () => {
    const spec = '  activeDeadlineSeconds: 3600';
    const hindrance = 'The export needs more time than activeDeadlineSeconds allows';
    const started = (startTime: string) => planOver({ startTime }, searchExport(spec), { spec });
    expect((await started('2026-10-31T23:00:00Z')).stdout).toContain(hindrance);
    expect((await started('2026-10-31T23:55:00Z')).stdout).not.toContain('But:');
  });

  test('of an unreadable export warns, and continues', async () => {
    const refused = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'Forbidden',
      code: 403,
      message: 'no',
    };
    const server = createServer((_, response) => {
      response.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify(refused));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const kubeconfig = join(folder, 'kubeconfig');
      const config = {
        'current-context': 'far',
        clusters: [{ name: 'far', cluster: { server: address, 'insecure-skip-tls-verify': true } }],
        contexts: [{ name: 'far', context: { cluster: 'far', user: 'me' } }],
        users: [{ name: 'me', user: {} }],
      };
      await writeFile(kubeconfig, JSON.stringify(config));
      const { status, stdout, stderr } = await plan(searchExport(), { flags: { kubeconfig }, open: openPlace });
      expect(stderr).toBe(
        'warning: you do not have permission to read the export logging/errors, so the plan treats it as a new export\n',
      );
      expect([status, stdout]).toEqual([0, expect.stringContaining('logging/errors: 5,000 rows')]);
    } finally {
      server.close();
    }
  });

  test('reports problems as text and as a document', async () => {
    const wrong = secret.replace('simulator-key', 'another');
    const { status, stderr } = await plan(searchExport(), { texts: [wrong, searchExport()] });
    expect([status, stderr]).toEqual([1, expect.stringContaining('logging/errors: Unauthorized: ')]);
    const { stdout } = await plan(searchExport(), { texts: [wrong, searchExport()], flags: { output: 'json' } });
    const { exports, schedules } = JSON.parse(stdout);
    expect(exports).toMatchObject([{ name: 'errors', problem: { reason: 'Unauthorized' } }]);
    expect(schedules).toEqual([]);
  });
});
