/** Tests of the counter of messages with search jobs that give prepared records. */
import { expect, test } from 'vitest';
import { MessageCounter } from '../../../../src/policy/analysis/message-counter.ts';
import type { SearchJobs } from '../../../../src/service/jobs/search-jobs.ts';
import type { JobOrder } from '../../../../src/service/jobs/search-service.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

type Records = readonly Readonly<Record<string, string>>[];

const period = { fromMs: 0, toMs: 60_000 };
const order = { query: '* | count by _collectorid', baseline: period, result: period };

/** Search jobs that all find the same number of messages and give the same records. */
function searchesOf(records: Records, messageCount: number, dateMs?: number) {
  const errors = { texts: [], isCut: false };
  const progress = { state: 'doneGatheringResults', messageCount, scannedBytes: 500, errors, dateMs };
  const pages = { records: records.map((record) => new Map(Object.entries(record))) };
  const job = {
    progress,
    whenFinished: async () => progress,
    readRecords: async ({ take }: { readonly take: (page: typeof pages) => void }) => take(pages),
    close: async () => {},
  };
  const ordered: JobOrder[] = [];
  const open = async (one: JobOrder) => {
    ordered.push(one);
    return job;
  };
  return { open, ordered } as unknown as SearchJobs & { readonly ordered: readonly JobOrder[] };
}

async function readingOf(...searches: readonly SearchJobs[]) {
  const clock = new VirtualClock();
  const counter = new MessageCounter(clock, { noteNews() {} });
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
])('reads records %s', async (_, records) => {
  const counts = new Map([['7', 12_000]]);
  expect(await readingOf(searchesOf(records, 12_000))).toMatchObject({
    kind: 'counted',
    baseline: counts,
    result: counts,
    scannedBytes: 1_000,
  });
});

test.each<readonly [string, Records, number]>([
  ['the search found 5 messages, and its records have 4', [{ _collectorid: '7', _count: '4' }], 5],
  [
    'two records are about collector 7',
    [
      { _collectorid: '7', _count: '4' },
      { _collectorid: '7', _count: '1' },
    ],
    5,
  ],
  ['a record has no count', [{ _collectorid: '7', count: '5' }], 5],
])('reports that %s', async (problem, records, messages) => {
  const reading = await readingOf(searchesOf(records, messages));
  expect(reading).toMatchObject({
    kind: 'failed',
    error: { reason: 'AnalysisUnavailable', message: expect.stringContaining(problem) },
  });
});

test('uses new searches, for example those of another access key, at once', async () => {
  const records = [{ _collectorid: '7', _count: '4' }];
  expect(await readingOf(searchesOf(records, 5), searchesOf(records, 4))).toMatchObject({ kind: 'counted' });
});

test('searches the periods by the clock of the service', async () => {
  const aheadMs = 3_600_000;
  const searches = searchesOf([{ _collectorid: '7', _count: '4' }], 4, new VirtualClock().now() + aheadMs);
  expect(await readingOf(searches)).toMatchObject({ kind: 'counted' });
  expect(searches.ordered.map(({ fromMs }) => Math.round(fromMs / 60_000))).toEqual([0, 60, 60]);
});
