/** Tests the status, states and end of search jobs, on the simulator or on a real deployment. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { hourMs, minuteMs, secondMs } from '../../src/base/time-units.ts';
import { expectError, expectNoPage, expectThere, openDeployment, testSimulated } from './contract-test.ts';
import { type Deployment, onSimulator } from './deployment.ts';
import { type ContractJob, finishedJob, jobsPath, type ReceivedStatus, startJob } from './job-session.ts';
import { fieldOf, type PageMessage } from './page-fields.ts';
import type { SimulatedDeployment } from './simulated-deployment.ts';

let service: Deployment;
beforeAll(async () => {
  service = await openDeployment();
});
afterAll(() => service.close());

const states = [
  'NOT STARTED',
  'GATHERING RESULTS',
  'GATHERING RESULTS FROM SUBQUERIES',
  'FORCE PAUSED',
  'DONE GATHERING RESULTS',
  'DONE GATHERING HISTOGRAM',
  'CANCELLED',
];

const aggregation = () => ({ query: `${service.logs.query} | count by _sourceHost` });
const whole = expect.toSatisfy((value) => Number.isInteger(value) && value >= 0, 'a whole number from 0 on');
const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

function expectGrowing(statuses: readonly ReceivedStatus[]): void {
  const messages = statuses.map(({ messageCount }) => messageCount);
  const bytes = statuses.map(({ usageDetails }) => usageDetails.dataScannedInBytes);
  for (const counts of [messages, bytes]) expect(counts).toEqual(counts.toSorted((left, right) => left - right));
}

async function stateOf(job: ContractJob): Promise<string> {
  return (await job.status()).json.state;
}

describe('4.2 status of a search job', () => {
  test('200 with the members of 2.3', async () => {
    const { status, headers, json } = await (await startJob(service)).status();
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(json).toMatchObject({
      warning: expect.any(String),
      state: expect.toBeOneOf(states),
      messageCount: whole,
      recordCount: whole,
      histogramBuckets: expect.any(Array),
      pendingErrors: expect.any(Array),
      pendingWarnings: expect.any(Array),
      usageDetails: { dataScannedInBytes: whole },
    });
  });

  test('counts of messages and bytes only grow while a job runs, and buckets have the members of 2.3', async ({
    skip,
  }) => {
    const statuses = await (await startJob(service)).pollUntilDone();
    expectGrowing(statuses);
    for (const { histogramBuckets, pendingErrors, pendingWarnings, state } of statuses) {
      expect(states).toContain(state);
      for (const bucket of histogramBuckets) {
        expect(bucket).toMatchObject({ startTimestamp: whole, length: whole, count: whole });
        expect(bucket.length).toBeGreaterThan(0);
      }
      for (const text of [...pendingErrors, ...pendingWarnings]) expect(text).toEqual(expect.any(String));
    }
    expectThere(skip, (statuses.at(-1) as ReceivedStatus).messageCount > 0, 'messages');
  });

  test('buckets are returned once, newest first, and count every message (2.3)', async ({ skip }) => {
    const statuses = await (await startJob(service)).pollUntilDone();
    const buckets = statuses.flatMap(({ histogramBuckets }) => histogramBuckets);
    expectThere(skip, buckets.length > 1, 'messages with several times');
    const starts = buckets.map(({ startTimestamp }) => startTimestamp);
    expect(new Set(starts).size).toBe(starts.length);
    expect(starts).toEqual([...starts].sort((left, right) => right - left));
    expect(sum(buckets.map(({ count }) => count))).toBe(statuses.at(-1)?.messageCount);
    const { fromMs, toMs } = service.logs;
    for (const { startTimestamp, length } of buckets) {
      expect(startTimestamp).toBeLessThan(toMs);
      expect(startTimestamp + length).toBeGreaterThan(fromMs);
    }
  });

  test('without an aggregation only messages are counted (2.3)', async ({ skip }) => {
    const [, { messageCount, recordCount }] = await finishedJob(service);
    expectThere(skip, messageCount > 0, 'messages');
    expect(recordCount).toBe(0);
  });

  test('with an aggregation records are counted, too (2.3)', async ({ skip }) => {
    const [, status] = await finishedJob(service, aggregation());
    expectThere(skip, status.messageCount > 0, 'messages');
    expect(status.recordCount).toBeGreaterThan(0);
  });

  test('scanned bytes (2.3) are returned after the first messages', async ({ skip }) => {
    const [job, { messageCount }] = await finishedJob(service);
    const { usageDetails } = (await job.status()).json;
    expectThere(skip, messageCount > 0, 'messages');
    expect(usageDetails.dataScannedInBytes).toBeGreaterThan(0);
  });

  test('404 jobid.invalid for an unknown job (7.3)', async () => {
    expectError(await service.send('GET', `${jobsPath}/0000000000000000`), 404, 'jobid.invalid');
  });

  const notices = [
    ['pendingErrors', 'pendingError'],
    ['pendingWarnings', 'pendingWarning'],
  ] as const;
  for (const [member, kind] of notices) {
    testSimulated(
      `${member} contains the new entries since the last status (2.3)`,
      {
        why: 'needs searches that fail',
        scenario: { faults: { trouble: { kind, message: 'Trouble.', operations: ['getJob'], nth: [2, 3] } } },
      },
      async (simulator) => {
        const job = await startJob(simulator);
        const reported = [];
        for (let poll = 0; poll < 4; poll++) reported.push((await job.status()).json[member]);
        expect(reported).toEqual([[], ['Trouble.'], ['Trouble.'], []]);
      },
    );
  }

  testSimulated(
    'a job works from the end of the range to its beginning: buckets and messages (2.3)',
    { why: 'needs a search with a known speed', scenario: { search: { duration: '10s', notStartedFor: '0s' } } },
    async (simulator) => {
      const job = await startJob(simulator);
      const { fromMs, toMs } = simulator.logs;
      const atMs = (part: number) => toMs - part * (toMs - fromMs);
      await simulator.pass(5 * secondMs);
      const half: ReceivedStatus = (await job.status()).json;
      expect(half.histogramBuckets.length).toBeGreaterThan(0);
      for (const { startTimestamp } of half.histogramBuckets) expect(startTimestamp).toBeGreaterThanOrEqual(atMs(0.5));
      const { messages } = (await job.messages(0, 10_000)).json;
      expect(messages).toHaveLength(half.messageCount);
      const times = messages.map(({ map }: { map: Record<string, string> }) => Number(map['_messagetime']));
      expect(Math.min(...times)).toBeGreaterThanOrEqual(atMs(0.5));
      await simulator.pass(5 * secondMs);
      const done: ReceivedStatus = (await job.status()).json;
      expect(done.messageCount).toBeGreaterThan(half.messageCount);
      for (const { startTimestamp } of done.histogramBuckets) expect(startTimestamp).toBeLessThan(atMs(0.5));
    },
  );
});

describe('3.1 states of a search job', () => {
  test('a job gathers results, and is done when the whole range is covered', async () => {
    const statuses = await (await startJob(service)).pollUntilDone();
    expect(statuses.at(-1)?.state).toBeOneOf(['DONE GATHERING RESULTS', 'FORCE PAUSED']);
  });

  /**
   * For each state of a search job: the simulator setting that produces the state, and the time in ms until the job
   * reaches the state.
   */
  const reached: readonly [state: string, search: Scenario['search'], afterMs: number][] = [
    ['NOT STARTED', {}, 0],
    ['GATHERING RESULTS', {}, secondMs],
    ['GATHERING RESULTS FROM SUBQUERIES', { subqueriesFor: '10s' }, secondMs],
    ['FORCE PAUSED', { messageLimit: 1_000 }, minuteMs / 4],
    ['DONE GATHERING RESULTS', {}, minuteMs / 4],
    ['DONE GATHERING HISTOGRAM', { histogramFirst: true, duration: '10s' }, 6 * secondMs],
  ];
  for (const [state, search, afterMs] of reached) {
    testSimulated(
      `${state} is reached`,
      { why: 'needs searches with a known speed', scenario: { search: { ...search } } },
      async (simulator) => {
        const job = await startJob(simulator);
        await simulator.pass(afterMs);
        expect(await stateOf(job)).toBe(state);
      },
    );
  }

  testSimulated(
    'a deletion leads to CANCELLED, with two L',
    { why: 'needs a job that is seen after its end', scenario: { search: { cancelledFor: '1m' } } },
    async (simulator) => {
      const job = await startJob(simulator);
      await job.delete();
      expect(await stateOf(job)).toBe('CANCELLED');
    },
  );

  testSimulated(
    'counts of messages and bytes stay when a job is CANCELLED (2.3)',
    { why: 'needs a job that is seen after its end', scenario: { search: { cancelledFor: '1m' } } },
    async (simulator) => {
      const job = await startJob(simulator);
      const running = await job.pollUntilDone();
      await job.delete();
      expectGrowing([...running, (await job.status()).json]);
      expect(running.at(-1)?.usageDetails.dataScannedInBytes).toBeGreaterThan(0);
    },
  );

  testSimulated(
    'some results are readable while a job gathers, and all when it is done',
    { why: 'needs searches with a known speed' },
    async (simulator) => {
      const job = await startJob(simulator);
      await simulator.pass(secondMs);
      const early = await job.messages();
      expect(early.json.messages.length).toBeGreaterThan(0);
      expect(await stateOf(job)).toBe('GATHERING RESULTS');
    },
  );

  testSimulated(
    'the histogram is done before the results, with all its buckets (2.3)',
    { why: 'needs searches with a known speed', scenario: { search: { histogramFirst: true, duration: '10s' } } },
    async (simulator) => {
      const job = await startJob(simulator);
      await simulator.pass(6 * secondMs);
      const { state, histogramBuckets, messageCount }: ReceivedStatus = (await job.status()).json;
      expect(state).toBe('DONE GATHERING HISTOGRAM');
      const statuses = await job.pollUntilDone();
      expect(sum(histogramBuckets.map(({ count }) => count))).toBe(statuses.at(-1)?.messageCount);
      expect(messageCount).toBeLessThan(statuses.at(-1)?.messageCount as number);
    },
  );

  testSimulated(
    'only queries without an aggregation become FORCE PAUSED',
    { why: 'needs to exceed the message limit', scenario: { search: { messageLimit: 1_000 } } },
    async (simulator) => {
      const [, plain] = await finishedJob(simulator);
      expect(plain).toMatchObject({ state: 'FORCE PAUSED', messageCount: 1_000 });
      const [, aggregated] = await finishedJob(simulator, aggregation());
      expect(aggregated.state).toBe('DONE GATHERING RESULTS');
      expect(aggregated.messageCount).toBeGreaterThan(1_000);
    },
  );
});

describe('3.1 the end of a search job', () => {
  const asked: readonly [what: string, ask: (job: ContractJob) => Promise<unknown>][] = [
    ['its status', (job) => job.status()],
    ['its messages', (job) => job.messages()],
    ['its records', (job) => job.records()],
  ];
  test.each(asked)('a request for %s every 20 s keeps a job alive (4.2)', async (_, ask) => {
    const job = await startJob(service, { ...aggregation(), requiresRawMessages: true });
    for (let time = 0; time < (onSimulator ? 10 : 2); time++) {
      await service.pass(19 * secondMs);
      await ask(job);
    }
    expect((await job.status()).status).toBe(200);
  });

  test('half a minute of silence cancels a job, and later requests are 404 (7.3)', async () => {
    const jobs = [await startJob(service, aggregation()), await startJob(service, aggregation())] as const;
    await service.pass(31 * secondMs);
    for (const job of jobs) {
      expectError(await job.status(), 404, 'jobid.invalid');
      expectNoPage(await job.messages(), 404);
      expectNoPage(await job.records(), 404);
    }
  });

  testSimulated(
    'eight hours end a job despite requests (7.3)',
    { why: 'would take eight hours', scenario: { search: { keepAlive: '20m' } } },
    async (simulator) => {
      const job = await startJob(simulator);
      const quarterMs = 15 * minuteMs;
      for (let passedMs = quarterMs; passedMs < 8 * hourMs; passedMs += quarterMs) {
        await simulator.pass(quarterMs);
        expect((await job.status()).status).toBe(200);
      }
      await simulator.pass(quarterMs);
      expectError(await job.status(), 404, 'jobid.invalid');
    },
  );
});

describe('4.5 delete a search job', () => {
  test('a deletion cancels the job: later requests are 404 (3.1, 7.3)', async () => {
    const job = await startJob(service);
    const deleted = await job.delete();
    expect(deleted.status).toBeGreaterThanOrEqual(200);
    expect(deleted.status).toBeLessThan(300);
    expectError(await job.status(), 404, 'jobid.invalid');
  });

  test('the response contains the id', async ({ skip }) => {
    const job = await startJob(service);
    const { json } = await job.delete();
    skip(!onSimulator && json?.id === undefined, 'has a reply without an id, which is not specified');
    expect(json.id).toBe(job.id);
  });

  test('the deletion of an unknown job is rejected (7.1)', async () => {
    expect((await service.send('DELETE', `${jobsPath}/0000000000000000`)).status).toBe(404);
  });

  testSimulated(
    'a deletion reduces the number of active jobs',
    { why: 'needs to know that number' },
    async (simulator) => {
      const activeJobs = async ({ state }: SimulatedDeployment) => (await state()).counters.jobsActive;
      const job = await startJob(simulator);
      expect(await activeJobs(simulator)).toBe(1);
      await job.delete();
      expect(await activeJobs(simulator)).toBe(0);
    },
  );
});

describe('4.10 the course of a search', () => {
  test('a job is created, polled to its end, read completely, and deleted', async ({ skip }) => {
    const job = await startJob(service);
    const statuses = await job.pollUntilDone();
    const { messageCount } = statuses.at(-1) as ReceivedStatus;
    const ids: string[] = [];
    const wanted = Math.min(messageCount, 5_000);
    while (ids.length < wanted) {
      const { messages } = (await job.messages(ids.length, 1_000)).json;
      if (messages.length === 0) break;
      ids.push(...messages.map((message: PageMessage) => fieldOf(message, '_messageid')));
    }
    expect(ids.length).toBeGreaterThanOrEqual(wanted);
    expect(new Set(ids).size).toBe(ids.length);
    const { status } = await job.delete();
    if (onSimulator) expect(status).toBe(200);
    else expect(Math.floor(status / 100)).toBe(2);
    expectThere(skip, wanted > 0, 'messages');
  });
});
