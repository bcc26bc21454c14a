import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowHistogram, rowSlices, unknownRows } from '../../../src/export/work/row-histogram.ts';
import type { HistogramBucket } from '../../../src/service/jobs/search-service.ts';
import { intervalOf } from './sample-view.ts';

const range = { fromMs: 0, toMs: 6_000 };
const found = (buckets: readonly HistogramBucket[]) => ({
  buckets,
  total: buckets.reduce((sum, { count }) => sum + count, 0),
  addsUp: true,
});
const bucket = (startMs: number, lengthMs: number, count: number) => ({ startMs, lengthMs, count });

function withRows(counts: readonly number[]): readonly (readonly [number, number])[] {
  return [...counts.entries()].filter(([, count]) => count !== 0);
}

test('is empty without records', () => {
  expect(new RowHistogram(range).read([])).toEqual([]);
});

test('spreads the rows of a record evenly if nothing more precise is known', () => {
  const counts = new RowHistogram(range).read([intervalOf(0, 1_000, 20), intervalOf(1_000, 6_000, 100)]);
  expect(counts).toEqual(Array.from({ length: rowSlices }, () => 2));
});

test('has the buckets of the job that has read a record', () => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(0, 6_000, 12);
  histogram.learn(record, found([bucket(100, 100, 5), bucket(3_000, 200, 7)]));
  expect(withRows(histogram.read([record]))).toEqual([
    [1, 5],
    [30, 4],
    [31, 3],
  ]);
});

test('distinguishes slices without rows from unknown slices', () => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(3_000, 5_000, 5);
  histogram.learn(record, found([bucket(4_000, 50, 5)]));
  expect(withRows(histogram.read([record]))).toEqual([
    ...Array.from({ length: 30 }, (_, slice) => [slice, unknownRows]),
    [40, 5],
    ...Array.from({ length: 10 }, (_, slice) => [50 + slice, unknownRows]),
  ]);
});

test('counts the rows of the bucket that contains a cut, and no rows before it', () => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(1_500, 6_000, 9);
  histogram.learn(record, found([bucket(0, 1_600, 6), bucket(2_000, 100, 7)]));
  expect(withRows(histogram.read([record, intervalOf(0, 1_500, 0)]))).toEqual([
    [16, 1],
    [18, 1],
    [20, 7],
  ]);
});

test('ends at the end of the search, even within a bucket', () => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(0, 2_500, 9);
  histogram.learn(record, found([bucket(0, 100, 6), bucket(2_400, 2_000, 3)]));
  expect(withRows(histogram.read([record, intervalOf(2_500, 6_000, 0)]))).toEqual([
    [0, 6],
    [24, 3],
  ]);
});

test('works if the range is shorter than its slices', () => {
  const counts = new RowHistogram({ fromMs: 0, toMs: 7 }).read([intervalOf(0, 3, 30), intervalOf(3, 7, 4)]);
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(0);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(34);
});

test.each([
  ['more rows than were written', [bucket(0, 6_000, 99)]],
  ['fewer rows, without a slice for the others', [bucket(0, 6_000, 3)]],
  ['nothing', []],
])('ignores %s', (_, buckets) => {
  const histogram = new RowHistogram(range);
  const record = intervalOf(0, 6_000, 9);
  histogram.learn(record, found(buckets));
  expect(histogram.read([record])).toEqual(new RowHistogram(range).read([record]));
});

test('has every row once, with any information', () => {
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
      const counts = histogram.read(records);
      expect(counts).toHaveLength(rowSlices);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(0);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(parts.reduce((sum, { rows }) => sum + rows, 0));
    }),
  );
});
