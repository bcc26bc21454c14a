/** Tests `MessageCounter`, which counts the messages sent by collectors. */
import { expect, test } from 'vitest';
import { MessageCounter } from '../../../../src/policy/analysis/message-counter.ts';
import type { SearchJobs } from '../../../../src/service/jobs/search-jobs.ts';
import type { JobOrder } from '../../../../src/service/jobs/search-service.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

type Records = readonly Readonly<Record<string, string>>[];

const period = { fromMs: 0, toMs: 60_000 };
const order = { query: '* | count by _collectorid', periods: [period, period] };

function searchesOf(records: Records, messageCount: number, dateMs?: number) {
  const errors: string[] = [];
  const recordCount = records.length;
  const progress = { state: 'doneGatheringResults', messageCount, recordCount, scannedBytes: 500, errors, dateMs };
  const pages = { records: records.map((record) => new Map(Object.entries(record))) };
  const job = {
    progress,
    whenFinished: async () => progress,
    readRecordPage: async ({ take }: { readonly take: (page: typeof pages) => void }) => {
      take(pages);
      return recordCount;
    },
    close: async () => {
      closed.push(job);
    },
  };
  const closed: unknown[] = [];
  const ordered: JobOrder[] = [];
  const open = async (one: JobOrder) => {
    ordered.push(one);
    return job;
  };
  return { open, ordered, closed } as unknown as SearchJobs & {
    readonly ordered: readonly JobOrder[];
    readonly closed: readonly unknown[];
  };
}

async function readingOf(...searches: readonly SearchJobs[]) {
  const clock = new VirtualClock();
  const counter = new MessageCounter(clock, { scheduleDecision() {} });
  for (const one of searches) {
    counter.count(one, order);
    await clock.advance(3_000);
  }
  const { reading } = counter;
  counter.close();
  return reading;
}

test.each<readonly [string, Records]>([
  ['in the spelling of the query', [{ _collectorid: '7', _count: '12000' }]],
  ['in another spelling', [{ _collectorId: '7', _Count: '12000' }]],
  ['with an exponent', [{ _collectorid: '7', _count: '1.2E4' }]],
  ['with a fraction of zero', [{ _collectorid: '7', _count: '12000.0' }]],
])('reads records %s', async (_, records) => {
  const counts = new Map([['7', 12_000]]);
  expect(await readingOf(searchesOf(records, 12_000))).toMatchObject({
    kind: 'counted',
    counts: [counts, counts],
    scannedBytes: 1_000,
  });
});

test('accepts messages without a collector beside those of collectors', async () => {
  const records = [
    { _collectorid: '7', _count: '4' },
    { _collectorid: '', _count: '1' },
  ];
  expect(await readingOf(searchesOf(records, 5))).toMatchObject({ kind: 'counted' });
});

test('accepts a period without messages', async () => {
  expect(await readingOf(searchesOf([], 0))).toMatchObject({ kind: 'counted', counts: [new Map(), new Map()] });
});

test.each<readonly [string, Records, number]>([
  [
    'the search found 5 messages, but the counts of all collectors add up to 4',
    [{ _collectorid: '7', _count: '4' }],
    5,
  ],
  [
    'two records in the search result count the messages of collector 7',
    [
      { _collectorid: '7', _count: '4' },
      { _collectorid: '7', _count: '1' },
    ],
    5,
  ],
  ['a record in the search result has no count', [{ _collectorid: '7', count: '5' }], 5],
  ['a record in the search result has no count', [{ _collectorid: '7', _count: '5.5' }], 5],
  [
    'a collector id in the search result contains characters other than digits',
    [{ _collectorid: '1.788E12', _count: '5' }],
    5,
  ],
  ['no record in the search result names a collector', [{ _collector: 'web-1', _count: '5' }], 5],
])('reports that %s', async (problem, records, messages) => {
  const reading = await readingOf(searchesOf(records, messages));
  expect(reading).toMatchObject({
    kind: 'failed',
    error: { reason: 'AnalysisUnavailable', message: expect.stringContaining(problem) },
  });
});

test.each([
  ['after it has counted the messages', 0],
  ["even if the service's clock differs too much", 3_600_000],
])('closes each search job, %s', async (_, dateMs) => {
  const searches = searchesOf([{ _collectorid: '7', _count: '4' }], 4, dateMs);
  await readingOf(searches);
  expect(searches.ordered.length).toBeGreaterThanOrEqual(2);
  expect(searches.closed).toHaveLength(searches.ordered.length);
});

test('immediately uses new searches, for example with another access key', async () => {
  const records = [{ _collectorid: '7', _count: '4' }];
  expect(await readingOf(searchesOf(records, 5), searchesOf(records, 4))).toMatchObject({ kind: 'counted' });
});

test.each([
  ['an hour ahead', 3_600, [0, 3_600, 3_600]],
  ['an hour behind', -3_600, [0, -3_600, -3_600]],
  ['ahead by a large part of the period', 20, [0, 20, 20]],
  ['ahead by less than a response takes', 4, [0, 0]],
])("searches the periods by the service's clock: %s", async (_, aheadSeconds, from) => {
  const dateMs = new VirtualClock().now() + aheadSeconds * 1_000;
  const searches = searchesOf([{ _collectorid: '7', _count: '4' }], 4, dateMs);
  expect(await readingOf(searches)).toMatchObject({ kind: 'counted' });
  expect(searches.ordered.map(({ fromMs }) => Math.round(fromMs / 1_000))).toEqual(from);
});

test('counts no period twice after a failed search', async () => {
  const clock = new VirtualClock();
  const good = searchesOf([{ _collectorid: '7', _count: '4' }], 4);
  const bad = searchesOf([{ _collectorid: '7', _count: '4' }], 5);
  const opened: number[] = [];
  const open = (one: JobOrder) => {
    opened.push(one.fromMs);
    return (opened.length === 2 ? bad : good).open(one);
  };
  const counter = new MessageCounter(clock, { scheduleDecision() {} });
  const later = { fromMs: 60_000, toMs: 120_000 };
  counter.count({ open } as unknown as SearchJobs, { ...order, periods: [period, later] });
  await clock.advance(10_000);
  expect(counter.reading).toMatchObject({ kind: 'counted', counts: [{ size: 1 }, { size: 1 }] });
  expect(opened).toEqual([0, 60_000, 60_000]);
  counter.close();
});
