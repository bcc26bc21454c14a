/** Tests that counting all messages of a time slice at once gives the same records as counting them one by one. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Effort } from '../../log-data/effort.ts';
import type { LogData, MessageSearch } from '../../log-data/log-data.ts';
import { madeUpData } from '../../log-data/made-up/made-up-data.ts';
import { madeUpSettings } from '../../log-data/made-up/made-up-settings.ts';
import { parseQuery } from '../../query/query.ts';
import type { MessageRow } from '../../query/row.ts';
import { SearchResults } from '../../search/search-results.ts';

const minute = 60_000;
const fromMs = Date.UTC(2026, 0, 1);
const toMs = fromMs + 5 * minute;

const data = madeUpData(
  madeUpSettings({
    fromMs,
    toMs,
    amount: { perSecond: 50 },
    dense: [{ atMs: fromMs + 2 * minute, count: 3_000 }],
    variety: 60,
    receipt: { promptMs: 900, lateShare: 0.05, lateMs: 20_000 },
  }),
);

/**
 * Log data with the same messages as `data`. Its searches report each message separately instead of counting equal
 * messages together.
 */
const rowByRow: LogData = {
  fields: data.fields,
  search(range, filter): MessageSearch {
    const search = data.search(range, filter);
    return {
      advance: (downToMs, maxMatches, { each } = { each() {} }) => search.advance(downToMs, maxMatches, { each }),
      get found() {
        return search.found;
      },
      get reachedMs() {
        return search.reachedMs;
      },
      isGivenUp: false,
      get scannedBytes() {
        return search.scannedBytes;
      },
      page: (offset, limit, maxBytes, withRaw) => search.page(offset, limit, maxBytes, withRaw),
    };
  },
};

const queries = [
  '* | timeslice 1m | count by _timeslice',
  '* | timeslice 10s | count by _timeslice',
  '* | timeslice 3ms | count by _timeslice',
  'error | timeslice 7s as slice | count, sum(_size), max(_size) by slice, _sourceCategory',
  '* | timeslice 1m | count_distinct(_sourceHost), min(_timeslice) by _collector',
  '* | timeslice 1m | timeslice 1s as second | count by _timeslice',
  '* | timeslice 1m | max(_messagetime), count by _timeslice',
  '* | parse regex "(?<digit>[0-9])" | timeslice 30s | count by _timeslice, digit',
  '* | timeslice 30s | parse regex "(?<digit>[0-9])" | where digit > 4 | count by _timeslice, digit',
  '* | limit 4000 | timeslice 30s | count by _timeslice',
  `* | where _messagetime > ${fromMs + minute} | timeslice 30s | count by _timeslice`,
  `* | timeslice 1m | where _timeslice > ${fromMs} | count by _timeslice | sort by _count`,
];

test('records by slices equal records row by row, at any time, by message time and by receipt time', () => {
  const time = fc.integer({ min: fromMs - minute, max: toMs + minute });
  const query = fc.constantFrom(...queries).map((text) => ({ text, query: parseQuery(text) }));
  fc.assert(
    fc.property(
      query,
      time,
      time,
      fc.boolean(),
      fc.array(time, { maxLength: 3 }),
      (asked, one, other, byReceiptTime, stops) => {
        const range = { fromMs: Math.min(one, other), toMs: Math.max(one, other), byReceiptTime };
        const resultsOf = (source: LogData) =>
          new SearchResults({
            query: asked.query,
            range,
            data: source,
            messageLimit: 100_000,
            scanLimit: Number.POSITIVE_INFINITY,
            effort: new Effort(),
            receivedByMs: Number.POSITIVE_INFINITY,
            bucketMs: undefined,
            histogramFirst: false,
          });
        const [sliced, plain] = [resultsOf(data), resultsOf(rowByRow)];
        for (const stopMs of [...stops.toSorted((left, right) => right - left), range.fromMs]) {
          sliced.advance(stopMs, stopMs);
          plain.advance(stopMs, stopMs);
          expect(sliced.messages).toBe(plain.messages);
          expect(sliced.table()).toEqual(plain.table());
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('a slice costs one row per kind of message', () => {
  const hour = 60 * minute;
  const large = madeUpData(madeUpSettings({ fromMs, toMs: fromMs + 24 * hour, amount: { perSecond: 1_000 } }));
  const { filter, reads, sliceMs } = parseQuery('* | timeslice 1h | count by _timeslice');
  const slice = { fromMs: fromMs + 7 * hour, toMs: fromMs + 8 * hour };
  const inSlice = large.search({ ...slice, byReceiptTime: false }, filter);
  inSlice.advance(fromMs, Number.POSITIVE_INFINITY);
  for (const byReceiptTime of [false, true]) {
    const search = large.search({ fromMs: fromMs + hour, toMs: fromMs + 9 * hour, byReceiptTime }, filter);
    const reported: [sliceStartMs: number, times: number][] = [];
    const each = (row: MessageRow, times: number) => void reported.push([row.messageTimeMs, times]);
    search.advance(fromMs, Number.POSITIVE_INFINITY, { each, reads, sliceMs });
    expect(reported.length).toBeLessThanOrEqual(9);
    expect(reported.reduce((sum, [, times]) => sum + times, 0)).toBe(search.found);
    expect(reported[1]).toEqual([slice.fromMs, inSlice.found]);
  }
});
