/** Tests that a search in many short steps finds the same messages as a search in one long step. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { textOf } from '../../base/body.ts';
import { Effort } from '../../log-data/effort.ts';
import type { LogData } from '../../log-data/log-data.ts';
import { madeUpData } from '../../log-data/made-up/made-up-data.ts';
import { madeUpSettings } from '../../log-data/made-up/made-up-settings.ts';
import { LogFiles } from '../../log-data/stored/log-files.ts';
import { parseQuery } from '../../query/query.ts';
import { SearchResults } from '../../search/search-results.ts';
import { hour, SearchingService } from '../searching-service.ts';
import { startMs } from '../simulated-service.ts';

const second = 1_000;
const fromMs = Date.UTC(2026, 0, 1);
const toMs = fromMs + 60 * second;

const madeUp = madeUpData(
  madeUpSettings({
    fromMs,
    toMs,
    amount: { perSecond: 100 },
    dense: [{ atMs: fromMs + 20 * second, count: 2_000 }],
    variety: 60,
    receipt: { promptMs: 900, lateShare: 0.05, lateMs: 20_000 },
  }),
);

/** Returns the generated messages as if they had been read from a file. */
function stored(): LogData {
  const search = madeUp.search({ fromMs, toMs, byReceiptTime: false }, parseQuery('*').filter);
  search.advance(fromMs, Number.POSITIVE_INFINITY);
  const messages = JSON.parse(`[${textOf(search.page(0, 3_000, Number.POSITIVE_INFINITY, true))}]`);
  const files = new LogFiles();
  const lines = messages.map(({ map }: { map: object }) => JSON.stringify(map));
  files.add('messages.ndjson', [Buffer.from(lines.join('\n'))]);
  return files.data();
}

const queries = [
  '*',
  'error OR timeout',
  '_messageid=*7',
  '* | where _messagetime > 0 | limit 900',
  '* | count by _sourceHost',
  '* | count by _messageid | sort by _messageid | limit 20',
  '* | timeslice 250ms | count by _sourceCategory, _timeslice',
  'error | parse regex "(?<digit>[0-9])" | where digit > 4 | count by digit',
];

test('a search in many short turns has the same results and limit as a search in one turn', () => {
  const sources = [madeUp, stored()];
  const time = fc.integer({ min: fromMs - second, max: toMs + 20 * second });
  fc.assert(
    fc.property(
      fc.constantFrom(...sources),
      fc.constantFrom(...queries),
      fc.tuple(time, time, fc.boolean(), fc.boolean()),
      fc.oneof(fc.integer({ min: 1, max: 9_000 }), fc.constant(Number.POSITIVE_INFINITY)),
      fc.integer({ min: 500, max: 20_000 }),
      (data, text, [one, other, byReceiptTime, histogramFirst], scanLimit, unitsPerTurn) => {
        const range = { fromMs: Math.min(one, other), toMs: Math.max(one, other), byReceiptTime };
        const effort = new Effort();
        const resultsWith = (taken: Effort) =>
          new SearchResults({
            query: parseQuery(text),
            range,
            data,
            messageLimit: 2_500,
            scanLimit,
            receivedByMs: Number.POSITIVE_INFINITY,
            bucketMs: 5 * second,
            histogramFirst,
            effort: taken,
          });
        const [sliced, whole] = [resultsWith(effort), resultsWith(new Effort())];
        expect(whole.advance(range.fromMs, range.fromMs)).toBe(true);
        effort.limit(unitsPerTurn);
        do effort.renew();
        while (!sliced.advance(range.fromMs, range.fromMs));
        const shown = (results: SearchResults) => ({
          messages: results.messages,
          records: results.records,
          failure: results.failure,
          buckets: results.histogram.all,
          table: text.includes('count') ? results.table() : undefined,
          page: textOf(results.page({ offset: 0, limit: 50, maxBytes: 1e6, withRaw: true }).page),
        });
        expect(shown(sliced)).toEqual(shown(whole));
        // With `histogramFirst`, the histogram runs ahead of the search, so it may count more messages than the search
        // has found.
        const inBuckets = sliced.histogram.all.reduce((sum, { count }) => sum + count, 0);
        if (!histogramFirst) expect(inBuckets).toBe(sliced.messages);
      },
    ),
    { numRuns: 60 },
  );
});

const logs = { from: hour.from, to: hour.to, perSecond: 100 };

test('a search that would examine too many messages is done early with its results so far and an error', () => {
  const service = new SearchingService({ search: { duration: '1m', scanLimit: 2_000 }, logs }, []);
  const job = service.job({ query: '* | count by _messageid' });
  service.after(10 * second);
  const status = job.status();
  expect(status).toMatchObject({ state: 'DONE GATHERING RESULTS', messageCount: 2_000, recordCount: 2_000 });
  expect(status.pendingErrors).toEqual([
    'The search ended after 2000 messages, because it had to examine them one by one.',
  ]);
  const settled = service.job({ query: 'error | count by _sourceHost' });
  service.after(70 * second);
  expect(settled.status()).toMatchObject({ state: 'DONE GATHERING RESULTS', pendingErrors: [] });
});

test('a job without enough computing time keeps gathering, and is done later', () => {
  const service = new SearchingService({ search: { duration: '0s' }, logs }, []);
  service.model.limitTurns(5_000);
  const job = service.job({ query: '_messageid=*7 | count' });
  const counts: number[] = [];
  let buckets = 0;
  for (let state = ''; state !== 'DONE GATHERING RESULTS'; ) {
    const status = job.status();
    state = status.state;
    expect(['GATHERING RESULTS', 'DONE GATHERING RESULTS']).toContain(state);
    counts.push(status.messageCount);
    for (const { count } of status.histogramBuckets) buckets += count;
  }
  expect(counts.length).toBeGreaterThan(10);
  expect(counts).toEqual(counts.toSorted((left, right) => left - right));
  expect(buckets).toBe(counts.at(-1));
});

test('jobs continue in turn without requests', () => {
  const service = new SearchingService({ search: { duration: '0s' }, logs }, []);
  service.model.limitTurns(5_000);
  const jobs = [1, 2, 3].map(() => service.job({ query: '_messageid=*7 | count' }));
  let turns = 3;
  for (let turn = 0; turn < turns; turn++) service.model.search(startMs);
  expect(service.state().jobs.every(({ messageCount }) => messageCount > 0)).toBe(true);
  while (service.model.search(startMs) === 'now') turns++;
  expect(turns).toBeGreaterThan(30);
  expect(service.model.search(startMs)).toBe('never');
  expect(jobs.map((job) => job.status().state)).toEqual(jobs.map(() => 'DONE GATHERING RESULTS'));
});

test('a job that is waiting for time to pass continues afterwards', () => {
  const service = new SearchingService({ search: { duration: '1m' }, logs }, []);
  service.job();
  expect(service.model.search(startMs + 30 * second)).toBe('later');
  expect(service.model.search(startMs + 60 * second)).toBe('never');
});
