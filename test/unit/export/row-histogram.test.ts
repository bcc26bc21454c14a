import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maxRowPieces, RowHistogram } from '../../../src/export/row-histogram.ts';
import type { HistogramBucket } from '../../../src/service/search-service.ts';
import { intervalOf } from './sample-view.ts';

const range = { fromMs: 0, toMs: 6_000 };
const found = (buckets: readonly HistogramBucket[]) => ({
  buckets,
  total: buckets.reduce((sum, { count }) => sum + count, 0),
  addsUp: true,
});
const bucket = (startMs: number, lengthMs: number, count: number) => ({ startMs, lengthMs, count });

test('has each record where nothing finer is known', () => {
  const records = [intervalOf(0, 1_000, 5), intervalOf(1_000, 6_000, 7)];
  expect(new RowHistogram(range).read(records)).toEqual([
    { fromMs: 0, toMs: 1_000, rows: 5 },
    { fromMs: 1_000, toMs: 6_000, rows: 7 },
  ]);
});

test('has the buckets of a job whose record it is', () => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(0, 6_000, 12);
  histogram.learn(record, found([bucket(0, 3_000, 5), bucket(3_000, 3_000, 7)]));
  expect(histogram.read([record])).toEqual([
    { fromMs: 0, toMs: 3_000, rows: 5 },
    { fromMs: 3_000, toMs: 6_000, rows: 7 },
  ]);
});

test('knows of time without a bucket that it has no rows, and takes none of its neighbours there', () => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(50, 6_000, 12);
  histogram.learn(record, found([bucket(200, 50, 5), bucket(2_000, 3_900, 7)]));
  const pieces = histogram.read([record]);
  expect(pieces.slice(0, 5)).toEqual([
    { fromMs: 50, toMs: 100, rows: 0 },
    { fromMs: 100, toMs: 200, rows: 0 },
    { fromMs: 200, toMs: 300, rows: 5 },
    { fromMs: 300, toMs: 400, rows: 0 },
    { fromMs: 400, toMs: 500, rows: 0 },
  ]);
  expect(pieces.slice(-2)).toEqual([
    { fromMs: 2_000, toMs: 5_900, rows: 7 },
    { fromMs: 5_900, toMs: 6_000, rows: 0 },
  ]);
});

test('counts the rows of the bucket through which a cut goes, and none before it', () => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(1_500, 6_000, 9);
  histogram.learn(record, found([bucket(0, 2_000, 6), bucket(2_000, 4_000, 7)]));
  expect(histogram.read([record])).toEqual([
    { fromMs: 1_500, toMs: 2_000, rows: 2 },
    { fromMs: 2_000, toMs: 6_000, rows: 7 },
  ]);
});

test('ends where the search ended, also within a bucket', () => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(0, 2_500, 9);
  histogram.learn(record, found([bucket(0, 2_000, 6), bucket(2_000, 2_000, 3)]));
  expect(histogram.read([record, intervalOf(2_500, 6_000, 1)])).toEqual([
    { fromMs: 0, toMs: 2_000, rows: 6 },
    { fromMs: 2_000, toMs: 2_500, rows: 3 },
    { fromMs: 2_500, toMs: 6_000, rows: 1 },
  ]);
});

test.each([
  ['more than was written', [bucket(0, 6_000, 99)]],
  ['less, and nowhere for the rest to be', [bucket(0, 6_000, 3)]],
  ['nothing', []],
])('does not believe %s', (_, buckets) => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(0, 6_000, 9);
  histogram.learn(record, found(buckets));
  expect(histogram.read([record])).toEqual([{ fromMs: 0, toMs: 6_000, rows: 9 }]);
});

test('has few pieces in order, and every row, whatever is known', () => {
  const lengths = fc.array(
    fc.record({ length: fc.integer({ min: 1, max: 500 }), rows: fc.nat(50), buckets: fc.nat(40) }),
    {
      minLength: 1,
      maxLength: 200,
    },
  );
  fc.assert(
    fc.property(lengths, (parts) => {
      const totalMs = parts.reduce((sum, { length }) => sum + length, 0);
      const histogram = new RowHistogram({ fromMs: 0, toMs: totalMs });
      let atMs = 0;
      const records = parts.map(({ length, rows, buckets }) => {
        const record = intervalOf(atMs, atMs + length, rows);
        const lengthMs = Math.max(1, Math.floor(length / Math.max(1, buckets)));
        const counts = Array.from({ length: buckets }, (_, index) =>
          bucket(record.fromMs + index * lengthMs, lengthMs, 1),
        );
        histogram.learn(record, found(counts));
        atMs += length;
        return record;
      });
      const pieces = histogram.read(records);
      expect(pieces.length).toBeLessThanOrEqual(maxRowPieces);
      expect(pieces.reduce((sum, { rows }) => sum + rows, 0)).toBe(parts.reduce((sum, { rows }) => sum + rows, 0));
      for (const [index, piece] of pieces.entries()) {
        expect(piece.fromMs).toBeLessThan(piece.toMs);
        if (index > 0) expect(piece.fromMs).toBeGreaterThanOrEqual(pieces[index - 1]?.toMs ?? 0);
      }
    }),
  );
});
