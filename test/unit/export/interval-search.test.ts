/** Tests the search of an interval: its result, the reason for the result, and the files left at the destination. */
import { describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/base/time-units.ts';
import type { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import { plainOutput } from '../../support/export-definition.ts';
import { evenly, hour, inPlaceOfTenth, lateError, SearchWorld, startMs } from './search-world.ts';

describe('a whole interval', () => {
  test('is committed with four requests: creation, status, page and deletion (E3, E6)', async () => {
    const world = new SearchWorld({ scenario: { search: { duration: '4s' } } });
    const record = await world.committed();
    expect(record).toMatchObject({
      ...{ segment: 0, ...hour, received: 600, written: 600, outside: 0, duplicates: 0, left: 0 },
      count: { rows: 600, source: 'Job' },
    });
    expect(await world.complaints(record)).toEqual([]);
    expect(await world.records()).toEqual([record]);
    expect(world.requests).toEqual(['createJob', 'getJob', 'getJob', 'listMessages', 'deleteJob']);
    await world.committed({ toMs: hour.fromMs + hourMs / 2 });
    expect(world.requests.slice(5)).toEqual(['createJob', 'getJob', 'listMessages', 'deleteJob']);
  });

  test('is committed without a file when it has no rows', async () => {
    const world = new SearchWorld({ messages: [] });
    const record = await world.committed();
    expect(record).toMatchObject({ received: 0, written: 0, files: [], count: { rows: 0, source: 'Job' } });
    expect(world.countOf('listMessages')).toBe(0);
    expect(await world.complaints(record)).toEqual([]);
  });

  test('is written into several files when one is too small', async () => {
    const world = new SearchWorld({ request: { output: { ...plainOutput, maxPartBytes: 10_000 } } });
    const record = await world.committed();
    expect(record.files.length).toBeGreaterThan(5);
    expect(record.files.map(({ name }) => name)).toEqual(record.files.map(({ name }) => name).toSorted());
    expect(await world.complaints(record)).toEqual([]);
  });

  test('has each row once, although pages repeat rows (E9)', async () => {
    const twins = [100, 100, 200, 200, 200].map((at) => ({
      at: hour.fromMs + at,
      raw: 'the same',
      fields: { _messageid: '7' },
    }));
    const world = new SearchWorld({ messages: [...evenly(10), ...twins] });
    const record = await world.committed();
    expect(record).toMatchObject({ received: 15, written: 12, duplicates: 3 });
    expect(await world.complaints(record)).toEqual([]);
  });

  test('is read again when a repeated row may have replaced another row (E9)', async () => {
    const world = new SearchWorld();
    const { jobs } = world;
    let readings = 0;
    const open: SearchJobs['open'] = async (...given) => {
      const job = await jobs.open(...given);
      const readPage = job.readMessagePage.bind(job);
      job.readMessagePage = (reading) => {
        const receiver = ++readings === 1 ? inPlaceOfTenth(reading.receiver) : reading.receiver;
        return readPage({ ...reading, receiver });
      };
      return job;
    };
    world.jobs = { open } as SearchJobs;
    const record = await world.committed();
    expect(record).toMatchObject({ received: 600, written: 600, duplicates: 0 });
    expect(await world.complaints(record)).toEqual([]);
    // The second read begins with a shorter page, so that its pages end at different rows than the pages of the first
    // read.
    expect(readings).toBe(3);
  });

  test.each([
    ['that break off', { kind: 'truncate', operations: ['listMessages'], nth: [1, 2] }],
    ['that are short, or empty', { kind: 'shortPage', rows: 0, nth: [1, 3] }],
    ['with many faults', { kind: 'status', status: 503, operations: ['listMessages'], nth: [1, 2] }],
  ] as const)('is read whole over pages %s', async (_name, fault) => {
    const world = new SearchWorld({ scenario: { search: { pages: { maxMessages: 100 } }, faults: { fault } } });
    expect(await world.complaints(await world.committed())).toEqual([]);
  });

  test('is searched again when its pages lack rows, and is incomplete the second time (E6)', async () => {
    const scenario = { faults: { empty: { kind: 'shortPage', rows: 0 } } } as const;
    const world = new SearchWorld({ scenario });
    expect(await world.search()).toMatchObject({ kind: 'again', isFailure: true });
    const again = await world.search({}, { failedBefore: 1 });
    expect(again).toMatchObject({ kind: 'incomplete', reason: 'CountDiffers' });
    expect(await world.leftovers()).toEqual([]);
    world.policy = 'Keep';
    const kept = await world.committed({}, { failedBefore: 1 });
    expect(kept).toMatchObject({ written: 0, count: { rows: 600 }, incomplete: { reason: 'CountDiffers' } });
  });
});

describe('a search with errors, or with a lost status response (E5)', () => {
  test('is repeated, and is incomplete the second time, even with incompletePolicy Keep', async () => {
    const world = new SearchWorld({
      scenario: { faults: { away: { kind: 'pendingError', message: 'a shard is away' } } },
    });
    expect(await world.search()).toMatchObject({ kind: 'again', isFailure: true });
    world.policy = 'Keep';
    const outcome = await world.search({}, { failedBefore: 1 });
    expect(outcome).toMatchObject({ kind: 'incomplete', reason: 'PendingErrors' });
    expect(outcome).toMatchObject({ message: expect.stringContaining('a shard is away') });
    expect(world.countOf('listMessages')).toBe(0);
    expect(await world.leftovers()).toEqual([]);
  });

  const lost = { kind: 'stall', effect: true, operations: ['getJob'], nth: [1] } as const;

  test('is committed when an aggregation counts the same number of rows', async () => {
    const world = new SearchWorld({ scenario: { faults: { lost } } });
    const record = await world.committed();
    expect(record).toMatchObject({ ...hour, written: 600, count: { rows: 600, source: 'Aggregate' } });
    expect(await world.complaints(record)).toEqual([]);
  });

  test('does not blame the query when the service refuses to count it', async () => {
    const refused = { kind: 'status', status: 400, code: 'parse.error', operations: ['createJob'] } as const;
    const world = new SearchWorld({ scenario: { faults: { lost, refused: { ...refused, queries: ['*| count'] } } } });
    const outcome = await world.search();
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'export.countRefused', reason: 'CountMissing' } });
    expect(outcome).toMatchObject({
      error: { message: expect.stringContaining('The service accepts the query, but refuses') },
    });
  });

  test('is repeated when its search job reports errors while its page is read', async () => {
    const slow = { kind: 'delay', delay: '20s', operations: ['listMessages'] } as const;
    const world = new SearchWorld({ scenario: { faults: { slow, error: lateError() } } });
    expect(await world.search()).toMatchObject({
      kind: 'again',
      message: expect.stringContaining('a shard is away') as string,
    });
    expect(await world.leftovers()).toEqual([]);
  });

  test('is repeated when the aggregation reports errors while its records are read', async () => {
    const slow = { kind: 'delay', delay: '20s', operations: ['listRecords'] } as const;
    // The slow read leaves time for a second status request, which reports an error.
    const error = lateError(['*| count']);
    const world = new SearchWorld({ scenario: { faults: { lost, slow, error } } });
    expect(await world.search()).toMatchObject({
      kind: 'again',
      message: expect.stringContaining('a shard is away') as string,
    });
    expect(await world.leftovers()).toEqual([]);
  });

  test('is repeated when the aggregation counts another number, or when the query cannot be counted (E8)', async () => {
    const scenario = { faults: { lost, short: { kind: 'shortPage', rows: 0, operations: ['listRecords'] } } } as const;
    const world = new SearchWorld({ scenario: { faults: { lost } }, request: { query: '* | limit 1000' } });
    expect(await world.search()).toMatchObject({ kind: 'again', isFailure: false });
    const uncounted = new SearchWorld({ scenario });
    expect(await uncounted.search()).toMatchObject({ kind: 'failed', error: { handling: { kind: 'backoff' } } });
    expect(await uncounted.leftovers()).toEqual([]);
  });

  test('is repeated when the count reports errors', async () => {
    const error = { kind: 'pendingError', message: 'a shard is away', queries: ['*| count'] } as const;
    const world = new SearchWorld({ scenario: { faults: { lost, error } } });
    expect(await world.search()).toMatchObject({ kind: 'again', isFailure: true });
    expect(world.countOf('createJob')).toBe(2);
  });

  test('is counted by another search job when the count lost a status response', async () => {
    const counting = { ...lost, queries: ['*| count'], nth: [1] } as const;
    const world = new SearchWorld({ scenario: { faults: { counting, lost } } });
    const record = await world.committed();
    expect(record.count).toEqual({ rows: 600, source: 'Aggregate' });
    expect(world.countOf('createJob')).toBe(3);
  });
});

describe('a search that reached the message limit (E4)', () => {
  const cut = (atMessageLimit: 'forcePaused' | 'done' | 'doneWithWarning', more: object = {}) => ({
    search: { messageLimit: 250, atMessageLimit, pages: { maxMessages: 50 }, ...more },
  });
  const withoutBuckets = { status: { bucketLength: '2h' } };

  test.each(['forcePaused', 'doneWithWarning'] as const)(
    'commits its whole buckets if its state is %s, and reads one more page, because buckets may lack a row',
    async (atMessageLimit) => {
      const world = new SearchWorld({ scenario: cut(atMessageLimit, { status: { bucketLength: '10m' } }) });
      const record = await world.committed();
      expect(record).toMatchObject({ fromMs: startMs - hourMs / 3, toMs: startMs, written: 200 });
      expect(record.count).toEqual({ rows: 200, source: 'Histogram' });
      expect(world.countOf('listMessages')).toBe(5);
      expect(world.countOf('createJob')).toBe(1);
      expect(await world.complaints(record)).toEqual([]);
      expect(world.quirks.smallestLimit).toBe(250);
    },
  );

  test('is counted without its oldest millisecond if no bucket is complete', async () => {
    const world = new SearchWorld({ scenario: cut('forcePaused', withoutBuckets) });
    const record = await world.committed();
    expect(record).toMatchObject({ received: 250, written: 249, left: 1, count: { rows: 249, source: 'Aggregate' } });
    expect(await world.complaints(record)).toEqual([]);
    const rest = await world.committed({ toMs: record.fromMs });
    expect(rest).toMatchObject({ received: 250, toMs: record.fromMs });
  });

  test('is searched again when its pages lack the oldest row, and is incomplete the second time (E6)', async () => {
    const world = new SearchWorld({ scenario: cut('forcePaused', withoutBuckets) });
    const { jobs } = world;
    const open: SearchJobs['open'] = async (...given) => {
      const job = await jobs.open(...given);
      const whenFinished = job.whenFinished.bind(job);
      job.whenFinished = async (signal) => ({ ...(await whenFinished(signal)), messageCount: 251 });
      return job;
    };
    world.jobs = { open } as SearchJobs;
    expect(await world.search()).toMatchObject({ kind: 'again', isFailure: true });
    const again = await world.search({}, { failedBefore: 1 });
    expect(again).toMatchObject({
      kind: 'incomplete',
      reason: 'CountDiffers',
      figures: { received: 250, expected: 251 },
    });
    expect(await world.leftovers()).toEqual([]);
  });

  test('counts as cut at the smallest limit that the service has shown', async () => {
    const world = new SearchWorld({ scenario: cut('done') });
    world.quirks.searched({ ...progressAtLimit(), messageCount: 250 });
    const record = await world.committed();
    expect(record.fromMs).toBeGreaterThan(hour.fromMs);
    expect(record.count.source).toBe('Histogram');
    expect(await world.complaints(record)).toEqual([]);
  });

  test('counts as cut off at a round number of rows', async () => {
    const scenario = { search: { messageLimit: 10_000, atMessageLimit: 'done' } } as const;
    const world = new SearchWorld({ scenario, messages: evenly(12_000) });
    const record = await world.committed();
    expect(record.fromMs).toBeGreaterThan(hour.fromMs);
    expect(await world.complaints(record)).toEqual([]);
  });

  test('leaves all rows of its oldest millisecond to the next search', async () => {
    const oldest = Array.from({ length: 90 }, (_, index) => ({ at: startMs - 1_000, raw: `${index} of them` }));
    const newer = Array.from({ length: 200 }, (_, index) => ({ at: startMs - 1 - index, raw: `message ${index}` }));
    const world = new SearchWorld({ scenario: cut('forcePaused', withoutBuckets), messages: [...newer, ...oldest] });
    const record = await world.committed();
    expect(record).toMatchObject({ fromMs: startMs - 999, received: 250, written: 200, left: 50 });
    expect(await world.complaints(record)).toEqual([]);
  });

  test('leaves large rows of its oldest millisecond to the next search', async () => {
    const large = 'x'.repeat(1_000_000);
    const oldest = Array.from({ length: 9 }, (_, index) => ({ at: startMs - 1_000, raw: `${index}${large}` }));
    const scenario = { search: { messageLimit: 16, atMessageLimit: 'forcePaused', ...withoutBuckets } } as const;
    const world = new SearchWorld({ scenario, messages: [...evenly(3_600_000 / 100).slice(0, 9), ...oldest] });
    const record = await world.committed();
    expect(record).toMatchObject({ fromMs: startMs - 999, written: 9, left: 7, received: 16 });
    expect(await world.complaints(record)).toEqual([]);
  });

  test('is incomplete when the query cannot be split, and is kept with a flag on request (E8)', async () => {
    const world = new SearchWorld({ scenario: cut('forcePaused'), request: { query: '* | limit 1000' } });
    expect(await world.search()).toMatchObject({ kind: 'incomplete', reason: 'LimitReached' });
    expect(await world.leftovers()).toEqual([]);
    expect(world.countOf('listMessages')).toBe(0);
    world.policy = 'Keep';
    expect(await world.committed()).toMatchObject({
      ...hour,
      written: 250,
      incomplete: { reason: 'LimitReached' },
    });
  });

  test('is halved by receipt time before a page is read', async () => {
    const world = new SearchWorld({ scenario: cut('forcePaused'), request: { byReceiptTime: true } });
    expect(await world.search()).toEqual({
      kind: 'narrowed',
      order: { segment: 0, fromMs: startMs - hourMs / 2, toMs: startMs },
    });
    expect(world.countOf('listMessages')).toBe(0);
    const record = await world.committed({ fromMs: startMs - hourMs / 4 });
    expect(record).toMatchObject({ fromMs: startMs - hourMs / 4, written: 150, count: { source: 'Job' } });
    expect(await world.complaints(record)).toEqual([]);
  });

  test('is read completely and counted when its histogram counts repeated rows (E9)', async () => {
    const twins = Array.from({ length: 5 }, () => ({ at: startMs - 500, raw: 'same', fields: { _messageid: '7' } }));
    const scenario = cut('forcePaused', { status: { bucketLength: '10m' } });
    const world = new SearchWorld({ scenario, messages: [...twins, ...evenly(600)] });
    const record = await world.committed();
    expect(record).toMatchObject({ written: 245, duplicates: 4, left: 1, count: { rows: 249, source: 'Aggregate' } });
    expect(world.countOf('createJob')).toBe(2);
    expect(await world.complaints(record)).toEqual([]);
  });
});

function progressAtLimit() {
  return {
    ...{ state: 'forcePaused' as const, recordCount: undefined, scannedBytes: undefined },
    ...{ errors: [], warnings: [] },
    ...{ isLimitReached: true, hasLostStatus: false, statuses: 1, dateMs: undefined },
  };
}
