/** Tests exporting a millisecond with more rows than one search returns (E4). */
import { describe, expect, test } from 'vitest';
import type { FaultScenario, Scenario } from '../../../simulator/scenario/scenario.ts';
import type { Message } from '../../../simulator/test/row-data.ts';
import { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import { hour, inPlaceOfTenth, lateError, SearchWorld, type SearchWorldOptions } from './search-world.ts';

const digits = '0123456789';
const denseMs = hour.fromMs + 1_000;
const count = 300;
/**
 * Messages in one millisecond. Each two-digit ending of an id occurs three times. Some ids are negative, as in the real
 * service (section 10.3 of docs/service.md).
 */
const crowd: readonly Message[] = Array.from({ length: count }, (_, index) => ({
  at: denseMs,
  raw: `message ${index}`,
  fields: { _messageid: `${index % 2 === 0 ? '-' : ''}91723${String(index).padStart(3, '0')}` },
}));

function worldOf(messageLimit: number, faults: Record<string, FaultScenario> = {}, more: SearchWorldOptions = {}) {
  const scenario: Scenario = { search: { duration: '1s', messageLimit }, faults };
  return new SearchWorld({ scenario, messages: crowd, ...more });
}

const millisecond = { fromMs: denseMs, toMs: denseMs + 1 };

describe('a dense millisecond', () => {
  test.each([
    [100, 10],
    [31, 10],
    [30, 110],
    [5, 110],
  ])('is committed completely at a limit of %d, with %d more searches', async (messageLimit, searches) => {
    const world = worldOf(messageLimit);
    const record = await world.committed(millisecond);
    expect(record).toMatchObject({
      ...millisecond,
      received: count,
      written: count,
      outside: 0,
      duplicates: 0,
      left: 0,
    });
    expect(record.count).toEqual({ rows: count, source: 'Aggregate' });
    expect(record.incomplete).toBeUndefined();
    expect(await world.complaints(record)).toEqual([]);
    expect(world.countOf('createJob')).toBe(2 + searches);
    expect(world.simulated.counters()).toMatchObject({ jobsActive: 0, jobsLostToSilence: 0 });
  });

  /**
   * Returns messages in the same millisecond. `rowsByDigit` contains the number of messages for each last digit of the
   * message id.
   */
  function crowdOf(rowsByDigit: readonly number[]): readonly Message[] {
    return rowsByDigit.flatMap((rows, digit) =>
      Array.from({ length: rows }, (_, index) => {
        return { at: denseMs, raw: `${index}${digit}`, fields: { _messageid: `${index}${digit}` } };
      }),
    );
  }

  // One search job searches the whole millisecond, and another counts its rows. Ten more search jobs follow, one for
  // each last digit of the message ids.
  test.each([
    ['one number of rows looks like a limit', [10_000, 2_000], 11_000, 2 + 10],
    ['all numbers of rows look like limits', Array.from(digits, () => 10_000), 50_000, 2 + 10],
    ['only one of two such searches is certainly cut', [12_000, 10_000], 11_000, 2 + 10 + 10],
  ])('is divided no further than its count requires if %s', async (_when, rowsByDigit, messageLimit, searches) => {
    const messages = crowdOf(rowsByDigit);
    const world = worldOf(messageLimit, {}, { messages });
    const record = await world.committed(millisecond);
    expect(record).toMatchObject({
      written: messages.length,
      count: { rows: messages.length, source: 'Aggregate' },
    });
    expect(await world.complaints(record)).toEqual([]);
    expect(world.countOf('createJob')).toBe(searches);
  });

  test('is divided further when the service cuts searches without reporting it', async () => {
    const search = { duration: '1s', messageLimit: 10_000, atMessageLimit: 'done' } as const;
    const world = new SearchWorld({ scenario: { search }, messages: crowdOf([12_000, 12_000, 500]) });
    const record = await world.committed(millisecond);
    expect(record).toMatchObject({ written: 24_500, count: { rows: 24_500, source: 'Aggregate' } });
    expect(await world.complaints(record)).toEqual([]);
    // Two of the ten searches are truncated, so rows are missing. The ten searches are then repeated, and each of the
    // two truncated searches is split into ten more searches.
    expect(world.countOf('createJob')).toBe(2 + 10 + 10 + 20);
  });

  test.each([1, 4])('is searched by at most %d concurrent search jobs', async (atOnce) => {
    const world = worldOf(100);
    world.searchesAtOnce = atOnce;
    let max = 0;
    const look = () => {
      max = Math.max(max, world.simulated.counters().jobsActive);
      world.clock.after(100, look);
    };
    look();
    expect(await world.complaints(await world.committed(millisecond))).toEqual([]);
    expect(max).toBe(atOnce);
  });

  test('is not searched when the limit of scanned bytes is reached', async () => {
    const world = worldOf(100);
    world.isScanLimitReached = true;
    expect(await world.search(millisecond)).toEqual({ kind: 'stopped' });
    expect(world.countOf('createJob')).toBe(2);
    expect(await world.leftovers()).toEqual([]);
  });

  test('is committed separately at the end of an interval', async () => {
    const before = { at: denseMs - 500, raw: 'before', fields: { _messageid: '1' } };
    const world = worldOf(100, {}, { messages: [...crowd, before] });
    const record = await world.committed({ fromMs: hour.fromMs, toMs: denseMs + 1 });
    expect(record).toMatchObject({ ...millisecond, written: count });
    expect(await world.complaints(record)).toEqual([]);
  });

  test('is committed for a search by receipt time', async () => {
    const messages = crowd.map((message, index) => ({ ...message, at: denseMs - index, received: denseMs }));
    const world = worldOf(100, {}, { messages, request: { byReceiptTime: true } });
    const record = await world.committed(millisecond);
    expect(record).toMatchObject({ written: count, count: { rows: count, source: 'Aggregate' } });
    expect(new Set(world.rows(record).map(({ _messageid }) => _messageid)).size).toBe(count);
    expect(await world.leftovers(record.files.map(({ name }) => name))).toEqual([]);
  });

  test('is committed with each row once, although the service stores and counts some twice (E9)', async () => {
    const world = worldOf(100, {}, { messages: [...crowd, ...crowd.slice(0, 7)] });
    const record = await world.committed(millisecond);
    expect(record).toMatchObject({ received: count + 7, written: count, duplicates: 7, count: { rows: count + 7 } });
    expect(await world.complaints(record)).toEqual([]);
  });

  test('is reported, without a commit, when two digits are not enough', async () => {
    const world = worldOf(3);
    expect(await world.search(millisecond)).toMatchObject({ kind: 'incomplete', reason: 'MillisecondTooDense' });
    expect(await world.leftovers()).toEqual([]);
    expect(world.simulated.counters().jobsActive).toBe(0);
  });

  test('is kept, with a flag, with the rows that one search returned', async () => {
    const world = worldOf(3);
    world.policy = 'Keep';
    const record = await world.committed(millisecond);
    expect(record).toMatchObject({ written: 3, incomplete: { reason: 'MillisecondTooDense' } });
    expect(await world.leftovers(record.files.map(({ name }) => name))).toEqual([]);
  });

  test.each([
    [
      'refuses the operator',
      (query: string) => query.replace('matches', 'resembles'),
      'does not support searches by the last digits',
    ],
    ['understands the operator in another way', (query: string) => query.replace('"*7"', '"*77"'), 'found 273'],
  ])('of a service that %s is reported', async (_how, meaning, message) => {
    const world = worldOf(100);
    const { client, budget, clock } = world.simulated;
    world.jobs = new SearchJobs({
      service: { createJob: (order, options) => client.createJob({ ...order, query: meaning(order.query) }, options) },
      permits: budget.jobs,
      clock,
    });
    const outcome = await world.search(millisecond, { failedBefore: 1 });
    expect(outcome).toMatchObject({ kind: 'incomplete', reason: 'MillisecondTooDense' });
    expect(outcome).toMatchObject({ message: expect.stringContaining(message) as string });
    expect(await world.leftovers()).toEqual([]);
  });

  const error = { kind: 'pendingError', message: 'a shard is away', queries: ['*4"'] } as const;

  test('is searched again after an error of one of its searches, and reported after another one (E5)', async () => {
    const broken = worldOf(100, { error });
    broken.searchesAtOnce = 1;
    expect(await broken.search(millisecond)).toMatchObject({ kind: 'again', isFailure: true });
    // The search for the digit 4 is tried three times. After its error, no searches for the digits 5 to 9 start.
    expect(broken.countOf('createJob')).toBe(2 + 4 + 3);
    const outcome = await broken.search(millisecond, { failedBefore: 1 });
    expect(outcome).toMatchObject({ kind: 'incomplete', reason: 'MillisecondTooDense' });
    expect(outcome).toMatchObject({ message: expect.stringContaining('a shard is away') as string });
    expect(await broken.leftovers()).toEqual([]);
    broken.policy = 'Keep';
    const record = await broken.committed(millisecond, { failedBefore: 1 });
    expect(record).toMatchObject({ written: 100, incomplete: { reason: 'MillisecondTooDense' } });
    expect(await broken.leftovers(record.files.map(({ name }) => name))).toEqual([]);
  });

  test('is searched again when the rows differ from the count (E5, E11)', async () => {
    const world = worldOf(100);
    const { jobs } = world;
    let opened = 0;
    const late = (query: string) => (opened++ < 12 ? query.replace('"*7"', '"*77"') : query);
    const open: SearchJobs['open'] = (order, options) => jobs.open({ ...order, query: late(order.query) }, options);
    world.jobs = { open } as SearchJobs;
    expect(await world.search(millisecond)).toMatchObject({ kind: 'again', isFailure: true });
    expect(await world.leftovers()).toEqual([]);
    expect(await world.complaints(await world.committed(millisecond, { failedBefore: 1 }))).toEqual([]);
  });

  test('is searched again after an error that one of its searches reports while rows are read (E5)', async () => {
    const queries = ['*4"'];
    const slow = { kind: 'delay', delay: '20s', operations: ['listMessages'], queries } as const;
    const world = worldOf(100, { slow, late: lateError(queries) });
    expect(await world.search(millisecond)).toMatchObject({
      ...{ kind: 'again', isFailure: true },
      message: expect.stringContaining('a shard is away') as string,
    });
    expect(await world.leftovers()).toEqual([]);
  });

  test('is searched again when only one of two readings contained a row twice (E9)', async () => {
    const world = worldOf(100);
    const { jobs } = world;
    let readings = 0;
    const open: SearchJobs['open'] = async (order, options) => {
      const job = await jobs.open(order, options);
      const readPage = job.readMessagePage.bind(job);
      job.readMessagePage = (reading) => {
        const isFirst = order.query.includes('"*4"') && readings++ === 0;
        return readPage(isFirst ? { ...reading, receiver: inPlaceOfTenth(reading.receiver) } : reading);
      };
      return job;
    };
    world.jobs = { open } as SearchJobs;
    expect(await world.search(millisecond)).toMatchObject({
      ...{ kind: 'again', isFailure: true },
      message: expect.stringContaining('contained different rows') as string,
    });
  });

  test('is searched again when the longest endings lack rows, although these searches reached the smallest limit', async () => {
    const world = worldOf(30);
    world.quirks.smallestLimit = 3;
    const { jobs } = world;
    const open: SearchJobs['open'] = (order, options) =>
      jobs.open({ ...order, query: order.query.replace('"*77"', '"*777"') }, options);
    world.jobs = { open } as SearchJobs;
    expect(await world.search(millisecond)).toMatchObject({ kind: 'again', isFailure: true });
    expect(world.countOf('createJob')).toBe(112);
  });

  test('is searched again each time when rows are missing and a status response was lost (E5)', async () => {
    const lost = { kind: 'stall', effect: true, operations: ['getJob'], queries: ['*4"'], nth: [1] } as const;
    const world = worldOf(100, { lost });
    const { jobs } = world;
    const open: SearchJobs['open'] = (order, options) =>
      jobs.open({ ...order, query: order.query.replace('"*7"', '"*77"') }, options);
    world.jobs = { open } as SearchJobs;
    expect(await world.search(millisecond, { failedBefore: 1 })).toMatchObject({ kind: 'again', isFailure: false });
    expect(await world.leftovers()).toEqual([]);
  });

  test.each([
    ['brings errors', { kind: 'pendingError', message: 'a shard is away', operations: ['getJob'] }],
    ['is lost', { kind: 'cancelJob', operations: ['getJob'] }],
    ['cannot be created', { kind: 'status', status: 503, operations: ['createJob'] }],
  ] as const)('is committed when one of its searches %s and is repeated', async (_how, fault) => {
    const once = { ...fault, operations: [...fault.operations], queries: ['*4"'], nth: [1] };
    const world = worldOf(100, { once });
    const record = await world.committed(millisecond);
    // A failed creation may still have created a search job. This job counts as active until it expires.
    await world.clock.advance(30_000);
    expect(await world.complaints(record)).toEqual([]);
    expect(world.countOf('createJob')).toBe(13);
  });

  test('leaves no job and no file when the search is stopped', async () => {
    const world = worldOf(100);
    const search = world.begin(millisecond);
    world.clock.after(8_000, () => search.stop());
    expect(await world.simulated.run(search.done)).toEqual({ kind: 'stopped' });
    expect(world.countOf('createJob')).toBeGreaterThan(3);
    expect(world.countOf('createJob')).toBeLessThan(12);
    expect(await world.leftovers()).toEqual([]);
    expect(world.simulated.counters().jobsActive).toBe(0);
  });

  test('is not reported as failed when the search is stopped while rows are discarded', async () => {
    const scenario = { search: { duration: '1s', messageLimit: 10_000, atMessageLimit: 'done' } } as const;
    const world = new SearchWorld({ scenario, messages: crowdOf([12_000, 500]) });
    const search = world.begin(millisecond);
    let jobsAtStop = 0;
    world.destination.strike = (call) => {
      if (call !== 'abort' && call !== 'remove') return undefined;
      jobsAtStop ||= world.countOf('createJob');
      search.stop();
      return undefined;
    };
    expect(await world.simulated.run(search.done)).toEqual({ kind: 'stopped' });
    expect([jobsAtStop, world.countOf('createJob')]).toEqual([12, 12]);
    expect(await world.leftovers()).toEqual([]);
    expect(world.simulated.counters().jobsActive).toBe(0);
  });
});
