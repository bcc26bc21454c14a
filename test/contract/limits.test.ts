/** Tests the request limits of the service. Most of the tests run only on the simulator. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { hourMs } from '../../src/base/time-units.ts';
import { expectError, expectThere, openDeployment, testSimulated } from './contract-test.ts';
import { type Deployment, openRealDeployment } from './deployment.ts';
import { finishedJob, jobsPath, requestJob, startJob } from './job-session.ts';
import { logDay, messagesPerHour, type SimulatedDeployment } from './simulated-deployment.ts';

let service: Deployment;
beforeAll(async () => {
  service = await openDeployment();
});
afterAll(() => service.close());

const upgrades = '/v1/collectors/upgrades';

/** The test sets no limits, so the simulator applies the real service's limits. */
const limits = {};
const users = { ann: { keys: { a1: 'key', a2: 'key' } }, bob: { keys: { b1: 'key' } } } as const;

const builds = (where: Deployment, credentials?: string) =>
  where.send('GET', `${upgrades}/targets`, credentials === undefined ? {} : { credentials });
const statusesOf = async (sent: Promise<{ readonly status: number }>[]) =>
  (await Promise.all(sent)).map(({ status }) => status).sort();
const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

describe('8 limits of requests', () => {
  const rate = { why: 'would exceed the rate', scenario: { limits, users } satisfies Scenario };

  test('request rate: four requests in a second are allowed', async () => {
    expect(await statusesOf(times(4, () => builds(service)))).toEqual([200, 200, 200, 200]);
  });

  test('request rate: the check of a deployment keeps the rate when one test file follows another', async () => {
    vi.stubEnv('LOGFLEET_CONTRACT_BASE_URL', 'https://127.0.0.1:1/api');
    onTestFinished(() => void vi.unstubAllEnvs());
    const deployment = await openRealDeployment();
    const startMs = performance.now();
    await expect(builds(deployment)).rejects.toThrow();
    await deployment.close();
    expect(performance.now() - startMs).toBeGreaterThan(250);
  });

  testSimulated(
    'request rate: the fifth request in a second is 429 rate.limit.exceeded (7.1)',
    rate,
    async (simulator) => {
      expect(await statusesOf(times(4, () => builds(simulator)))).toEqual([200, 200, 200, 200]);
      expectError(await builds(simulator), 429, 'rate.limit.exceeded');
      await simulator.pass(1_000);
      expect((await builds(simulator)).status).toBe(200);
    },
  );

  testSimulated('request rate: 240 even requests in a minute are allowed', rate, async (simulator) => {
    for (let request = 0; request < 240; request++) {
      expect((await builds(simulator)).status).toBe(200);
      await simulator.pass(250);
    }
  });

  testSimulated('request rate: all requests of a user count together, for all operations', rate, async (simulator) => {
    const calls = [
      builds(simulator),
      simulator.send('GET', `${upgrades}/1`, { credentials: 'a2:key' }),
      simulator.send('POST', jobsPath, { body: '{}' }),
      simulator.send('GET', `${jobsPath}/0000000000000000`),
    ];
    expect(await statusesOf(calls)).not.toContain(429);
    expect((await builds(simulator)).status).toBe(429);
    expect((await builds(simulator, 'a2:key')).status).toBe(429);
    expect((await builds(simulator, 'b1:key')).status).toBe(200);
  });

  testSimulated(
    'concurrent requests: ten of any kind per access key; the eleventh is 429 (7.1)',
    {
      why: 'would exceed the concurrency',
      scenario: {
        users,
        limits: { requestsPerSecond: 0 },
        faults: { slow: { kind: 'delay', delay: '1s', operations: ['listBuilds'] } },
      },
    },
    async (simulator) => {
      const slow = times(10, () => builds(simulator));
      const arrived = async () => (await simulator.state()).counters.requests;
      await expect.poll(arrived, { interval: 1 }).toBe(10);
      const another = (credentials: string) => simulator.send('GET', `${upgrades}/collectors`, { credentials });
      expectError(await another('a1:key'), 429, 'rate.limit.exceeded');
      expect((await another('a2:key')).status).toBe(200);
      await simulator.pass(1_000);
      expect(await statusesOf(slow)).toEqual(times(10, () => 200));
      expect((await another('a1:key')).status).toBe(200);
    },
  );
});

describe('8 limits of search jobs', () => {
  /**
   * Checks that at most `max` search jobs can be active at the same time, and that another can start after one has been
   * deleted.
   */
  async function expectMaxJobs(simulator: SimulatedDeployment, max: number): Promise<void> {
    for (let job = 1; job < max; job++) expect((await requestJob(simulator)).status).toBe(202);
    const last = await startJob(simulator);
    expectError(await requestJob(simulator), 429, 'rate.limit.exceeded');
    await last.delete();
    expect((await requestJob(simulator)).status).toBe(202);
    expect((await requestJob(simulator)).status).toBe(429);
  }

  const why = 'would exceed the number of jobs of the organisation';

  testSimulated('active search jobs: 200; a deletion frees one (4.5, 7.1)', { why }, (simulator) =>
    expectMaxJobs(simulator, 200),
  );

  testSimulated(
    'active search jobs: all jobs of an organisation count together',
    { why, scenario: { users } },
    async (simulator) => {
      for (let job = 0; job < 200; job++) {
        const credentials = job % 2 === 0 ? 'a1:key' : 'b1:key';
        expect((await requestJob(simulator, {}, { credentials })).status).toBe(202);
      }
      for (const credentials of ['a1:key', 'a2:key', 'b1:key']) {
        expectError(await requestJob(simulator, {}, { credentials }), 429, 'rate.limit.exceeded');
      }
    },
  );

  testSimulated(
    'concurrent jobs, frequent tier: 20',
    {
      why,
      scenario: {
        users: { ann: { keys: { a1: 'key' }, organisation: 'frequent' } },
        organisations: { frequent: { activeJobs: 20 } },
      },
    },
    (simulator) => expectMaxJobs(simulator, 20),
  );

  testSimulated(
    'concurrent jobs, flex data: 200',
    { why, scenario: { users: { ann: { keys: { a1: 'key' }, organisation: 'flex' } }, organisations: { flex: {} } } },
    (simulator) => expectMaxJobs(simulator, 200),
  );

  test('keep-alive: a status or result request every 20 s keeps a job, 30 s of silence cancel it (3.1)', async () => {
    const [kept, left] = [await startJob(service), await startJob(service)];
    await service.pass(15_000);
    expect((await kept.messages()).status).toBe(200);
    await service.pass(16_000);
    expect((await kept.status()).status).toBe(200);
    expect((await left.status()).status).toBe(404);
  });

  testSimulated(
    'query time-out: a search ends after 8 hours (3.1)',
    { why: 'would take eight hours', scenario: { search: { keepAlive: '9h' } } },
    async (simulator) => {
      const job = await startJob(simulator);
      await simulator.pass(8 * hourMs - 1);
      expect((await job.status()).status).toBe(200);
      await simulator.pass(1);
      expect((await job.status()).status).toBe(404);
    },
  );

  testSimulated(
    'messages of a search: FORCE PAUSED at 100K without an aggregation; smaller ranges return all messages (3.1)',
    { why: 'needs more than 100,000 messages' },
    async (simulator) => {
      const hours = (from: number, to: number) => ({
        from: String(logDay.fromMs + from * hourMs),
        to: String(logDay.fromMs + to * hourMs),
      });
      const [, paused] = await finishedJob(simulator, hours(0, 12));
      expect(paused).toMatchObject({ state: 'FORCE PAUSED', messageCount: 100_000 });
      const [, aggregated] = await finishedJob(simulator, { ...hours(0, 12), query: '* | count' });
      expect(aggregated.state).toBe('DONE GATHERING RESULTS');
      const [, early] = await finishedJob(simulator, hours(0, 6));
      const [, late] = await finishedJob(simulator, hours(6, 12));
      expect([early.state, late.state]).toEqual(['DONE GATHERING RESULTS', 'DONE GATHERING RESULTS']);
      expect(early.messageCount + late.messageCount).toBe(aggregated.messageCount);
      expect(aggregated.messageCount).toBeGreaterThan(10 * messagesPerHour);
    },
  );
});

describe('8 limits of upgrades', () => {
  test('page of collectors: 50 by default (4.6)', async ({ skip }) => {
    const { collectors } = (await service.send('GET', `${upgrades}/collectors`)).json;
    expect(collectors.length).toBeLessThanOrEqual(50);
    expectThere(skip, collectors.length === 50, '50 collectors');
  });

  testSimulated(
    'upgrade time-out: a task that has not succeeded after 30 minutes has failed (3.2)',
    { why: 'would upgrade something, and wait', scenario: { upgrade: { outcomes: [{ end: 'hang' }] } } },
    async (simulator) => {
      const collectorId = Number(await simulator.collectorNamed('web-0001'));
      const body = JSON.stringify({ collectorId, toVersion: '19.500-1' });
      const { id } = (await simulator.send('POST', upgrades, { body })).json;
      const statusOf = async () => (await simulator.send('GET', `${upgrades}/${id}`)).json.upgrade.status;
      await simulator.pass(30 * 60_000 - 1);
      expect(await statusOf()).toBe(6);
      await simulator.pass(1);
      expect(await statusOf()).toBe(3);
    },
  );
});
