/** Tests the row counts, message sizes and message times that a commit record stores for each period (E6). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addWeightedSums,
  joinSlices,
  type SliceFigures,
  SliceSums,
  summaryOf,
  weightedSumsOf,
} from '../../../src/destination/slice-figures.ts';

const lengthMs = 100;
const interval = { fromMs: 50, toMs: 1_050 };

function sliced(rows: readonly (readonly [atMs: number, size: number | undefined])[]): readonly SliceFigures[] {
  const sums = new SliceSums(lengthMs);
  for (const [atMs, size] of rows) sums.add(atMs, size);
  return sums.slices;
}

const rowArbitrary = fc.tuple(fc.integer({ min: 50, max: 1_049 }), fc.integer({ min: 0, max: 9 }));

describe('figures of slices', () => {
  test('are computed from the rows, in order of time, and omit slices without rows', () => {
    expect(
      sliced([
        [310, 5],
        [120, 1],
        [199, 2],
        [100, 3],
      ]),
    ).toEqual([
      { fromMs: 100, rows: 3, bytes: 6, oldestMs: 100, newestMs: 199, offsetsMs: 119 },
      { fromMs: 310 - 10, rows: 1, bytes: 5, oldestMs: 310, newestMs: 310, offsetsMs: 10 },
    ]);
  });

  test('have no bytes for a slice in which a row has no size', () => {
    expect(
      sliced([
        [110, undefined],
        [120, 1],
        [210, 2],
      ]).map(({ bytes }) => bytes),
    ).toEqual([undefined, 2]);
  });

  test('have the same sums for any division of the rows', () => {
    fc.assert(
      fc.property(fc.array(rowArbitrary), fc.nat(20), (rows, count) => {
        const [left, right] = [sliced(rows.slice(0, count)), sliced(rows.slice(count))];
        expect(joinSlices([left, right])).toEqual(sliced(rows));
      }),
    );
  });
});

describe('weighted sums of slices', () => {
  const sumsOf = (rows: readonly (readonly [number, number | undefined])[]) =>
    weightedSumsOf({ lengthMs, slices: sliced(rows) });

  test('add up to the sums of all rows, for any division of the rows', () => {
    fc.assert(
      fc.property(fc.array(rowArbitrary), fc.nat(20), (rows, count) => {
        const [left, right] = [sumsOf(rows.slice(0, count)), sumsOf(rows.slice(count))];
        const whole = sumsOf(rows);
        expect(addWeightedSums([left.rows, right.rows])).toBe(whole.rows);
        expect(addWeightedSums([left.bytes ?? '', right.bytes ?? ''])).toBe(whole.bytes);
        expect(addWeightedSums([left.offsetsMs ?? '', right.offsetsMs ?? ''])).toBe(whole.offsetsMs);
      }),
    );
  });

  test('differ if a row is in another slice, or has another size or time', () => {
    const rows: readonly (readonly [number, number])[] = [
      [110, 5],
      [210, 5],
      [310, 7],
    ];
    const changed = (at: number, atMs: number, size: number) => sumsOf(rows.with(at, [atMs, size]));
    const own = sumsOf(rows);
    expect(changed(0, 410, 5).rows).not.toBe(own.rows);
    expect(changed(0, 110, 6)).toMatchObject({ rows: own.rows, offsetsMs: own.offsetsMs });
    expect(changed(0, 110, 6).bytes).not.toBe(own.bytes);
    expect(changed(0, 111, 5)).toMatchObject({ rows: own.rows, bytes: own.bytes });
    expect(changed(0, 111, 5).offsetsMs).not.toBe(own.offsetsMs);
    expect(sumsOf(rows.with(1, [210, 7]).with(2, [310, 5])).bytes).not.toBe(own.bytes);
  });

  test('lack the sizes if a row has no size', () => {
    const hex = expect.stringMatching(/^[0-9a-f]{16}$/);
    expect(sumsOf([[-110, undefined]])).toEqual({ lengthMs, rows: hex, offsetsMs: hex });
  });
});

describe('the summary of an interval', () => {
  test('lists the figures of slices that are partly outside the interval', () => {
    const { shared, whole } = summaryOf(
      {
        lengthMs,
        slices: sliced([
          [60, 1],
          [500, 2],
          [1_049, 3],
        ]),
      },
      interval,
    );
    expect(shared.map(({ fromMs }) => fromMs)).toEqual([0, 1_000]);
    expect(Object.keys(whole)).toEqual(['rows', 'bytes', 'oldestMs', 'newestMs', 'offsetsMs']);
  });

  test('has no hash of bytes if a row has no size', () => {
    const { whole } = summaryOf({ lengthMs, slices: sliced([[500, undefined]]) }, interval);
    expect(Object.keys(whole)).toEqual(['rows', 'oldestMs', 'newestMs', 'offsetsMs']);
  });

  test('differs if and only if a figure of a slice differs', () => {
    const rows = fc.array(rowArbitrary, { maxLength: 4 });
    fc.assert(
      fc.property(rows, rows, (left, right) => {
        const [one, other] = [sliced(left), sliced(right)];
        const [oneSum, otherSum] = [one, other].map((slices) => summaryOf({ lengthMs, slices }, interval));
        expect(JSON.stringify(oneSum) === JSON.stringify(otherSum)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });

  test('has the same size for ten slices and for ten thousand', () => {
    const slices = sliced(Array.from({ length: 10_000 }, (_, index) => [50 + 100 * index, 7] as const));
    const summary = summaryOf({ lengthMs, slices }, { fromMs: 50, toMs: 1_000_050 });
    expect(JSON.stringify(summary).length).toBeLessThan(500);
  });
});
