/** Tests search jobs from creation to end on the simulated service. */
import { describe, expect, test } from 'vitest';
import type { FaultScenario, Scenario } from '../../../../simulator/scenario/scenario.ts';
import type { LogfleetError } from '../../../../src/base/errors.ts';
import type { JobProgress } from '../../../../src/service/jobs/job-gathering.ts';
import type { SearchJob } from '../../../../src/service/jobs/search-job.ts';
import type { JobOrder } from '../../../../src/service/jobs/search-service.ts';
import { ClientWorld, messageCount } from '../../../support/client-world.ts';
import { readAllMessages, readAllRecords } from '../../../support/job-results.ts';
import { RecordingReceiver } from '../../../support/recording-receiver.ts';

async function search(world: ClientWorld, order: Partial<JobOrder> = {}) {
  const job = await world.run(world.jobs.open({ ...world.order, ...order }));
  const progress = await world.run(job.whenFinished());
  const log = new RecordingReceiver();
  const read = await world.run(readAllMessages(job, { receiver: log }));
  await world.run(job.close());
  return { job, progress, log, read };
}

test('a search of ten seconds takes one creation, two status requests, its pages and a deletion', async () => {
  const world = new ClientWorld({ search: { duration: '10s', pages: { maxMessages: 100 } } });
  const { progress, log, read } = await search(world);
  expect(progress).toMatchObject({ state: 'doneGatheringResults', messageCount, hasLostStatus: false });
  expect([read, new Set(log.ids).size, log.ids.length]).toEqual([messageCount, messageCount, messageCount]);
  expect(world.journal.map(({ operation }) => operation)).toEqual([
    'createJob',
    'getJob',
    'getJob',
    ...Array(messageCount / 100).fill('listMessages'),
    'deleteJob',
  ]);
  expect(world.counters()).toMatchObject({ jobsActive: 0, rejected429: 0, jobsLostToSilence: 0 });
});

const worlds: readonly [string, Scenario][] = [
  ['a job that replicas learn of late', { search: { lag: '4s' } }],
  ['several cookies, and 500 without', { search: { cookies: { names: ['A', 'B', 'C'], missing: 500 } } }],
  ['no cookies at all', { search: { cookies: { names: [] } } }],
  ['occasional unknown states', { faults: { odd: { kind: 'unknownState', state: 'RESTING', nth: [1, 2] } } }],
  ['a histogram before the messages (E13)', { search: { duration: '30s', histogramFirst: true } }],
  ['all buckets and notices each time', { search: { duration: '30s', status: { buckets: 'all', pending: 'all' } } }],
  ['extra members, and no notice', { search: { status: { extraMembers: true, cookieNotice: false } } }],
  ['pages of a few kilobytes', { search: { pages: { maxBytes: 5_000 } } }],
  ['pages that are sometimes short', { faults: { short: { kind: 'shortPage', rows: 3, nth: [1, 3, 4] } } }],
  ['pages that are sometimes empty', { faults: { short: { kind: 'shortPage', rows: 0, nth: [1, 3, 4] } } }],
  [
    'pages that sometimes break off',
    { faults: { cut: { kind: 'truncate', operations: ['listMessages'], nth: [1, 2] } } },
  ],
  [
    '503 at times',
    { faults: { down: { kind: 'status', status: 503, operations: ['listMessages', 'deleteJob'], nth: [1, 2] } } },
  ],
  [
    'a 429 to a page',
    { faults: { much: { kind: 'status', status: 429, operations: ['listMessages'], retryAfter: 5, nth: [1] } } },
  ],
  ['a spurious 401 to each operation', { faults: { who: { kind: 'status', status: 401, nth: [1, 3, 5, 7] } } }],
  [
    'an address that has moved',
    { basePaths: ['/api', '/eu/api'], faults: { moved: { kind: 'redirect', to: '/eu/api' } } },
  ],
  ['slow responses', { latency: ['100ms', '1900ms'] }],
];

test.each(worlds)('every message is read once with %s', async (_name, scenario) => {
  const world = new ClientWorld(scenario);
  const { log, progress, job } = await search(world);
  expect(progress.messageCount).toBe(messageCount);
  expect(log.ids.length).toBe(messageCount);
  expect(new Set(log.ids).size).toBe(messageCount);
  expect(progress.warnings).toEqual([]);
  expect(job.histogram()).toMatchObject({ total: messageCount, addsUp: true });
  expect(world.counters()).toMatchObject({ jobsActive: 0, jobsLostToSilence: 0 });
});

test.each(['new', 'all'] as const)(
  'the histogram adds up at every status with %s buckets (2.3, 10.2)',
  async (buckets) => {
    const world = new ClientWorld({ search: { duration: '60s', status: { buckets } } });
    const sums: [number, number][] = [];
    let job: SearchJob | undefined;
    const onProgress = () => void sums.push([job?.histogram().total ?? 0, job?.progress.messageCount ?? 0]);
    job = await world.run(world.jobs.open(world.order, { onProgress }));
    await world.run(job.whenFinished());
    expect(sums.length).toBeGreaterThan(4);
    // The histogram contains no incomplete buckets, but the message count may already include the messages in such a
    // bucket.
    for (const [total, counted] of sums) expect(counted - total).toBeLessThanOrEqual(60);
    expect(sums.at(-1)).toEqual([messageCount, messageCount]);
    await world.run(job.close());
  },
);

test('aggregations have as many records as they count (4.4)', async () => {
  const world = new ClientWorld({ search: { pages: { maxRecords: 7 } } });
  const job = await world.run(world.jobs.open({ ...world.order, query: '* | timeslice 2m | count by _timeslice' }));
  const { recordCount } = await world.run(job.whenFinished());
  const counts: number[] = [];
  const take = ({ records }: { records: readonly ReadonlyMap<string, string>[] }) => {
    for (const record of records) counts.push(Number(record.get('_count')));
    return undefined;
  };
  expect(await world.run(readAllRecords(job, take))).toBe(recordCount);
  expect(counts).toHaveLength(recordCount ?? 0);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(messageCount);
  await world.run(job.close());
});

test('a page with one row describes the fields of messages, and is retried after a failure (2.4)', async () => {
  const world = new ClientWorld({
    faults: { down: { kind: 'status', status: 503, operations: ['listMessages'], nth: [1] } },
  });
  const job = await world.run(world.jobs.open({ ...world.order, query: '* | parse regex "message (?<number>.*)"' }));
  await world.run(job.whenFinished());
  const fields = await world.run(job.describeFields());
  const types = new Map(fields.map(({ name, fieldType }) => [name, fieldType]));
  expect([types.get('_messagetime'), types.get('number')]).toEqual(['long', 'string']);
  expect(world.requests('listMessages')).toHaveLength(2);
  const none = await world.run(world.jobs.open({ ...world.order, query: 'nowhere' }));
  await world.run(none.whenFinished());
  expect(await world.run(none.describeFields())).toEqual([]);
  expect(world.requests('listMessages')).toHaveLength(2);
  await world.run(Promise.all([job.close(), none.close()]));
});

describe('causes of an early end of a search', () => {
  test.each(['forcePaused', 'done', 'doneWithWarning'] as const)(
    'the message limit, shown as %s (10.2)',
    async (atMessageLimit) => {
      const world = new ClientWorld({ search: { messageLimit: 250, atMessageLimit } });
      const { progress, log } = await search(world);
      expect(progress.messageCount).toBe(250);
      expect(progress.state).toBe(atMessageLimit === 'forcePaused' ? 'forcePaused' : 'doneGatheringResults');
      expect(progress.isLimitReached).toBe(atMessageLimit !== 'done');
      expect(log.ids).toHaveLength(250);
    },
  );

  test('an invalid query: rejected, or done without results and with the reason among the errors (10.2)', async () => {
    for (const [brokenQuery, reason] of [
      ['parseError', 'QueryRefused'],
      ['creationError', 'QueryRefused'],
    ] as const) {
      const world = new ClientWorld({ search: { brokenQuery } });
      const error = await world.failure(world.jobs.open({ ...world.order, query: '* | nonsense' }));
      expect(error).toMatchObject({ reason, handling: { kind: 'stall' } });
      expect(world.budget.jobs.active).toBe(0);
    }
    const world = new ClientWorld({ search: { brokenQuery: 'pendingError' } });
    const { progress } = await search(world, { query: '* | nonsense' });
    expect(progress).toMatchObject({ state: 'doneGatheringResults', messageCount: 0 });
    expect(progress.errors).toHaveLength(1);
  });

  test('errors and warnings of single statuses are kept, each once', async () => {
    const world = new ClientWorld({
      search: { duration: '60s' },
      faults: {
        error: { kind: 'pendingError', message: 'a shard is gone', nth: [2, 4] },
        warning: { kind: 'pendingWarning', message: 'slow', nth: [1] },
      },
    });
    const { progress } = await search(world);
    expect([progress.errors, progress.warnings]).toEqual([['a shard is gone'], ['slow']]);
    expect(progress.hasLostStatus).toBe(false);
  });

  test('a lost response to a status taints the job, which continues (E5)', async () => {
    const world = new ClientWorld({
      search: { duration: '40s' },
      faults: { lost: { kind: 'stall', effect: true, operations: ['getJob'], nth: [2] } },
    });
    const { progress, log } = await search(world);
    expect(progress.hasLostStatus).toBe(true);
    expect(log.ids).toHaveLength(messageCount);
  });

  test('another client deletes the job', async () => {
    const world = new ClientWorld({
      search: { duration: '60s' },
      faults: { other: { kind: 'cancelJob', operations: ['getJob'], nth: [3] } },
    });
    const job = await world.run(world.jobs.open(world.order));
    expect(await world.failure(job.whenFinished())).toMatchObject({ reason: 'JobLost' });
    expect(world.budget.jobs.active).toBe(0);
  });

  test('another client cancels the job, whose status is CANCELLED for a while', async () => {
    const world = new ClientWorld({
      search: { duration: '60s', cancelledFor: '1h' },
      faults: { other: { kind: 'cancelJob', operations: ['getJob'], nth: [3] } },
    });
    const job = await world.run(world.jobs.open(world.order));
    expect(await world.failure(job.whenFinished())).toMatchObject({ reason: 'JobCancelled' });
  });

  test('another client deletes the finished job, and its reader soon gets an error (7.3)', async () => {
    const world = new ClientWorld({ search: { duration: '1s' } });
    const job = await world.run(world.jobs.open(world.order));
    await world.run(job.whenFinished());
    const fromMs = world.clock.monotonic();
    world.model.patch({ faults: { other: { kind: 'cancelJob', times: 1 } } }, world.service.nowMs());
    const reading = readAllMessages(job, { receiver: new RecordingReceiver() });
    expect(await world.failure(reading)).toMatchObject({ reason: 'JobLost' });
    expect(world.requests('listMessages').length).toBeLessThanOrEqual(4);
    expect(world.clock.monotonic() - fromMs).toBeLessThan(4_000);
  });

  test('a proxy removes the cookie (5.3)', async () => {
    const world = new ClientWorld({ search: { cookies: { names: ['A'] } } });
    const job = await world.run(world.jobs.open(world.order));
    // The service now requires the cookie `B`, which the client never received.
    world.model.patch({ search: { cookies: { names: ['B'] } } }, world.service.nowMs());
    const error = await world.failure(job.whenFinished());
    expect(['JobLost', 'JobCookieMissing', 'JobSilenced']).toContain((error as LogfleetError).reason);
    expect(job.end).toBe(error);
  });
});

test.each(['2s', '9s'])(
  'a job that is closed immediately is deleted once all replicas know it, here after %s (10.2)',
  async (lag) => {
    const world = new ClientWorld({ search: { lag } });
    const job = await world.run(world.jobs.open(world.order));
    await world.run(job.close());
    expect([world.counters().jobsActive, world.budget.jobs.active]).toEqual([0, 0]);
    expect(world.counters().jobsLostToSilence).toBe(0);
  },
);

describe('a creation whose response is lost', () => {
  test.each([
    ['reset', true, 1],
    ['reset', false, 0],
    ['stall', true, 1],
    ['html', true, 1],
  ] as const)(
    'by %s, effect %s, is never repeated, and the job that may exist is awaited',
    async (kind, effect, jobs) => {
      const world = new ClientWorld({ faults: { lost: { kind, effect, operations: ['createJob'] } } });
      expect(await world.failure(world.jobs.open(world.order))).toMatchObject({ effect: 'unknown' });
      expect([world.requests('createJob').length, world.counters().jobsCreated]).toEqual([
        kind === 'stall' ? 0 : 1,
        jobs,
      ]);
      expect(world.budget.jobs.active).toBe(1);
      await world.clock.advance(30_000);
      expect(world.budget.jobs.active).toBe(0);
      await world.clock.advance(30_000);
      expect(world.counters().jobsActive).toBe(0);
    },
  );
});

test('429 to creations while other calls pass reduces the number of jobs, not the rate (B5)', async () => {
  const world = new ClientWorld({ search: { duration: '20s' }, limits: { activeJobs: 4 } });
  let refused = 0;
  let done = 0;
  const runOne = async () => {
    for (;;) {
      try {
        const job = await world.jobs.open(world.order);
        await job.whenFinished();
        await readAllMessages(job, { receiver: new RecordingReceiver() });
        await job.close();
        done++;
        return;
      } catch (error) {
        expect(error).toMatchObject({ code: 'service.rateLimited', effect: 'none' });
        refused++;
      }
    }
  };
  // The first search job runs alone. Eleven more start later, and the service rejects those that exceed its limit of
  // four active search jobs.
  const all = [runOne()];
  await world.clock.advance(5_000);
  for (let job = 0; job < 11; job++) all.push(runOne());
  await world.clock.advance(4_000);
  expect(refused).toBeGreaterThan(0);
  expect(world.budget.jobs.limit).toBeLessThanOrEqual(4);
  // At the full rate of four requests per second, nine requests take less than 3.5 s. If the rate was reduced, they
  // take longer.
  const fromMs = world.clock.monotonic();
  await world.run(Promise.all(Array.from({ length: 9 }, () => world.client.listBuilds())));
  expect(world.clock.monotonic() - fromMs).toBeLessThan(3_500);
  await world.run(Promise.all(all));
  expect(done).toBe(12);
  expect(world.counters()).toMatchObject({ jobsCreated: 12, jobsActive: 0, jobsLostToSilence: 0, maxPerSecond: 4 });
});

describe('many jobs', () => {
  test.each([6, 1])(
    'thirty jobs are kept alive for ten minutes while pages of %d jobs get at least half of the budget (B3, B4)',
    async (readers) => {
      const world = new ClientWorld({
        search: { duration: '1s', keepAlive: '20s', pages: { maxMessages: 5 } },
      });
      const jobs = await world.run(Promise.all(Array.from({ length: 30 }, () => world.jobs.open(world.order))));
      await world.run(Promise.all(jobs.map((job) => job.whenFinished())));
      expect(world.budget.jobs.active).toBe(30);
      const fromMs = world.clock.monotonic();
      const stop = new AbortController();
      const readOn = async (job: SearchJob) => {
        while (!stop.signal.aborted)
          await readAllMessages(job, { receiver: new RecordingReceiver(), signal: stop.signal }).catch(() => {});
      };
      // While the client is reading a search job's pages, this job needs no keep-alives.
      for (const job of jobs.slice(0, readers)) for (let part = 0; part < 6 / readers; part++) void readOn(job);
      const before = world.journal.length;
      await world.clock.advance(600_000);
      const requests = world.journal.slice(before);
      const pages = requests.filter(({ operation }) => operation === 'listMessages').length;
      const seconds = (world.clock.monotonic() - fromMs) / 1_000;
      expect(pages / seconds).toBeGreaterThanOrEqual(0.5 * 4);
      expect(requests.length / seconds).toBeGreaterThan(0.95 * 4);
      expect(world.counters()).toMatchObject({ jobsLostToSilence: 0, jobsActive: 30, rejected429: 0, maxPerSecond: 4 });
      expect(jobs.every(({ end }) => end === undefined)).toBe(true);
      stop.abort(new Error('enough'));
      await world.run(Promise.all(jobs.map((job) => job.close())));
      expect(world.counters().jobsActive).toBe(0);
    },
  );

  test('at most as many jobs are opened as can be kept alive, and the next one when a job ends (B4)', async () => {
    const world = new ClientWorld({ search: { duration: '1s', keepAlive: '20s' } });
    const opened: SearchJob[] = [];
    for (let job = 0; job < 40; job++) void world.jobs.open(world.order).then((one) => opened.push(one));
    await world.clock.advance(60_000);
    expect(opened).toHaveLength(30);
    await world.run(opened[0]?.close() ?? Promise.resolve());
    await world.clock.advance(10_000);
    expect(opened).toHaveLength(31);
    expect(world.counters().jobsLostToSilence).toBe(0);
  });

  test('Retry-After of an hour for all requests loses no job (B4)', async () => {
    const world = new ClientWorld({ search: { duration: '1s', keepAlive: '20s' } });
    const job = await world.run(world.jobs.open(world.order));
    await world.run(job.whenFinished());
    const refusal = { kind: 'status', status: 429, retryAfter: 3_600, operations: ['listBuilds'], times: 1 } as const;
    world.model.patch({ faults: { much: refusal } }, world.service.nowMs());
    await world.failure(world.client.listBuilds());
    await world.clock.advance(120_000);
    expect(world.counters().jobsLostToSilence).toBe(0);
    expect(job.end).toBeUndefined();
    await world.run(job.close());
  });
});

test.each(['3s', '8s', '14s'])('responses that take %s lose no job and no errors (B4, E5)', async (delay) => {
  const world = new ClientWorld({
    search: { duration: '40s', keepAlive: '20s' },
    faults: {
      error: { kind: 'pendingError', message: 'a shard is gone', nth: [1] },
      slow: { kind: 'delay', delay, operations: ['getJob'] },
    },
  });
  const { progress, job } = await search(world);
  expect(progress).toMatchObject({ messageCount, hasLostStatus: false } satisfies Partial<JobProgress>);
  expect(progress.errors).toEqual(['a shard is gone']);
  expect(job.histogram()).toMatchObject({ total: messageCount, addsUp: true });
  expect(world.counters().jobsLostToSilence).toBe(0);
});

test.each([
  ['stall', true, 0],
  ['stall', false, 0],
  ['delay', true, 0],
  ['stall', true, 6],
  ['stall', false, 6],
  ['delay', true, 6],
  ['stall', true, 1],
] as const)(
  'a period without responses to status requests (%s, effect %s) loses none of thirty jobs, %d of which are read (B4)',
  async (kind, effect, readers) => {
    const world = new ClientWorld({ search: { duration: '1s', keepAlive: '20s' } });
    const jobs = await world.run(Promise.all(Array.from({ length: 30 }, () => world.jobs.open(world.order))));
    await world.run(Promise.all(jobs.map((job) => job.whenFinished())));
    const readOn = async (job: SearchJob) => {
      while (!job.end) await readAllMessages(job, { receiver: new RecordingReceiver() }).catch(() => {});
    };
    for (const job of jobs.slice(0, readers)) for (let part = 0; part < 6 / readers; part++) void readOn(job);
    await world.clock.advance(30_000);
    const bad: FaultScenario =
      kind === 'stall' ? { kind, effect, operations: ['getJob'] } : { kind, delay: '7s', operations: ['getJob'] };
    world.model.patch({ faults: { bad } }, world.service.nowMs());
    await world.clock.advance(5_000);
    world.model.patch({ faults: { bad: null } }, world.service.nowMs());
    await world.clock.advance(60_000);
    expect(world.counters()).toMatchObject({ jobsLostToSilence: 0, jobsActive: 30 });
    expect(world.counters().maxPerSecond).toBeLessThanOrEqual(4);
    // With the fault `delay`, concurrency is not checked, because the service keeps working on cancelled requests that
    // the budget no longer counts (B2).
    if (kind === 'stall') expect([world.counters().rejected429, world.counters().maxInFlight <= 10]).toEqual([0, true]);
    expect(jobs.filter(({ end }) => end).length).toBe(0);
  },
);
