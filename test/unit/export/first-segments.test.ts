import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxSegments } from '../../../src/destination/plan-object.ts';
import {
  evenSegments,
  firstSegments,
  fullestRows,
  requestsOfSegments,
  type SegmentsInput,
  type SliceCount,
} from '../../../src/export/plan/first-segments.ts';
import { isRoundCount } from '../../../src/export/search/message-limit.ts';

function slicesOf(rows: readonly number[]): SliceCount[] {
  const slices = rows.map((count, index) => ({ startMs: 10 * index, rows: count }));
  return slices.filter((slice) => slice.rows > 0);
}

function inputOf(rows: readonly number[], limit: number, foundRows = 0): SegmentsInput {
  return { range: { fromMs: -5, toMs: 10 * rows.length + 5 }, slices: slicesOf(rows), limit, foundRows };
}

const sum = (rows: readonly number[]) => rows.reduce((total, count) => total + count, 0);

const inputs = fc
  .record({
    rows: fc.array(fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 60_000 })), { maxLength: 60 }),
    limit: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 9_000, max: 120_000 })),
    isFound: fc.boolean(),
  })
  .map(({ rows, limit, isFound }) => inputOf(rows, limit, isFound ? limit : 0));

describe('first segments', () => {
  test('cover the range in order and without gaps, with the rows of their slices', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const segments = firstSegments(input);
        expect(segments[0]?.fromMs).toBe(input.range.fromMs);
        expect(segments.at(-1)?.toMs).toBe(input.range.toMs);
        segments.forEach(({ fromMs, toMs, rows }, index) => {
          expect(fromMs).toBeLessThan(toMs);
          if (index > 0) expect(fromMs).toBe(segments[index - 1]?.toMs);
          const inside = input.slices.filter(({ startMs }) => startMs >= fromMs && startMs < toMs);
          expect(rows).toBe(sum(inside.map((slice) => slice.rows)));
        });
        expect(sum(segments.map(({ rows }) => rows))).toBe(sum(input.slices.map(({ rows }) => rows)));
      }),
    );
  });

  test('fit into one search that does not look cut, except for single slices (E4)', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const segments = firstSegments(input);
        segments.forEach(({ fromMs, toMs, rows }, index) => {
          const isFound = index === segments.length - 1 && input.foundRows > 0;
          const inside = input.slices.filter(({ startMs }) => startMs >= fromMs && startMs < toMs);
          if (inside.length <= 1) return;
          if (isFound) expect(rows).toBeLessThanOrEqual(input.foundRows);
          else expect(rows < input.limit && !isRoundCount(rows)).toBe(true);
        });
      }),
    );
  });

  test('are as few as possible: two neighbours do not fit into one search', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const segments = firstSegments(input);
        const fullest = fullestRows(input.limit);
        segments.slice(1).forEach(({ toMs, fromMs, rows }, index) => {
          const older = input.slices.filter(({ startMs }) => startMs < fromMs).at(-1);
          const isNewest = index === segments.length - 2;
          const max = isNewest && input.foundRows > 0 ? input.foundRows : fullest;
          const next = rows + (older?.rows ?? 0);
          expect(next > max || isRoundCount(next), `${fromMs} to ${toMs}`).toBe(true);
        });
      }),
    );
  });

  test('of a million rows at a limit of 100,000 take eleven searches, and no search needs a page for a few rows', () => {
    const input = inputOf(Array<number>(8_640).fill(116), 100_000, 100_000);
    const segments = firstSegments(input);
    expect(segments).toHaveLength(11);
    for (const { rows } of segments.slice(1)) expect(rows).toBeGreaterThan(99_800);
    expect(requestsOfSegments(segments, 100_000)).toBe(11 * 3 + 101);
  });

  test('a slice beyond the limit stands alone, so that only its search is cut', () => {
    const segments = firstSegments(inputOf([40, 40, 250, 40, 40], 100));
    expect(segments.map(({ rows }) => rows)).toEqual([80, 250, 80]);
    expect(segments.map(({ fromMs }) => fromMs)).toEqual([-5, 20, 30]);
  });

  test('the newest segment has the rows that have already been found, even if their number looks like a limit', () => {
    const input = inputOf([7_000, 5_000, 5_000, 5_000, 5_000], 20_000, 20_000);
    expect(firstSegments(input).map(({ rows }) => rows)).toEqual([7_000, 20_000]);
    expect(firstSegments({ ...input, foundRows: 0 }).map(({ rows }) => rows)).not.toContain(20_000);
  });

  test('a number of rows that looks like a limit is avoided (E4)', () => {
    const segments = firstSegments(inputOf([5_100, 5_500, 4_500, 5_000, 3_000, 2_500], 20_000));
    expect(segments.map(({ rows }) => rows)).toEqual([15_100, 10_500]);
  });

  test('are at most as many as a plan can hold', () => {
    const rows = Array<number>(3 * maxSegments).fill(9);
    const segments = firstSegments(inputOf(rows, 10));
    expect(segments.length).toBeLessThanOrEqual(maxSegments);
    expect(segments.length).toBeGreaterThan(maxSegments / 4);
  });

  test('a range without rows is one segment', () => {
    expect(firstSegments(inputOf([0, 0, 0], 10))).toEqual([{ fromMs: -5, toMs: 35, rows: 0 }]);
  });
});

test.each([
  [1, 1],
  [500, 499],
  [10_000, 9_999],
  [10_001, 10_000],
  [12_000, 10_000],
  [13_000, 12_999],
  [100_000, 99_999],
  [100_001, 100_000],
  [105_000, 100_000],
  [109_999, 109_998],
  [200_000, 199_999],
])('below a limit of %d a search is best with %d rows', (limit, rows) => {
  expect(fullestRows(limit)).toBe(rows);
});

describe('even segments', () => {
  test('divide an interval with an estimated number of rows', () => {
    expect(evenSegments({ fromMs: 0, toMs: 100, rows: 250 }, 3)).toEqual([
      { fromMs: 0, toMs: 33, rows: 84 },
      { fromMs: 33, toMs: 66, rows: 84 },
      { fromMs: 66, toMs: 100, rows: 84 },
    ]);
  });

  test('are at most sixteen, and none is empty', () => {
    expect(evenSegments({ fromMs: 0, toMs: 1_000, rows: 1e9 }, 1e7)).toHaveLength(16);
    expect(evenSegments({ fromMs: 7, toMs: 9, rows: 1e9 }, 1e7).map(({ toMs }) => toMs)).toEqual([8, 9]);
    expect(evenSegments({ fromMs: 0, toMs: 10, rows: 0 }, 0)).toEqual([{ fromMs: 0, toMs: 10, rows: 0 }]);
  });

  test('are sixteen when the number of rows is unknown', () => {
    expect(evenSegments({ fromMs: 0, toMs: 1_000, rows: 100 })).toHaveLength(16);
    expect(evenSegments({ fromMs: 7, toMs: 9, rows: 100 }).map(({ rows }) => rows)).toEqual([50, 50]);
  });
});
