import { describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/base/time-units.ts';
import { slicesOf } from '../../../src/export/plan/slice-counts.ts';
import { sliceLength } from '../../../src/export/search/slice-length.ts';

test.each([
  [500, '1ms'],
  [9_998, '1ms'],
  [9_999, '2ms'],
  [hourMs, '500ms'],
  [3 * hourMs, '2s'],
  [24 * hourMs, '10s'],
  [31 * 24 * hourMs, '5m'],
  [400 * 24 * hourMs, '1h'],
  [40_000 * 24 * hourMs, '5d'],
])('of a range of %d ms one page has all slices of %s', (rangeMs, text) => {
  const length = sliceLength({ fromMs: 0, toMs: rangeMs });
  expect(length.text).toBe(text);
  expect(Math.ceil(rangeMs / length.lengthMs) + 1).toBeLessThanOrEqual(10_000);
});

describe('records of slices', () => {
  const interval = { fromMs: 1_005, toMs: 1_040 };
  const record = (slice: string, count: string, names = ['_timeslice', '_count']) =>
    new Map([
      [names[0] as string, slice],
      [names[1] as string, count],
    ]);

  test('are sorted, begin at the start of the interval, and end before an inclusive end (E10)', () => {
    const records = [record('1020', '3'), record('1000', '7'), record('1030', '0'), record('1040', '1')];
    expect(slicesOf(records, interval)).toEqual([
      { startMs: 1_005, rows: 7 },
      { startMs: 1_020, rows: 3 },
    ]);
  });

  test('that begin before the interval are added up (2.5)', () => {
    const records = [record('900', '2'), record('1000', '7'), record('1020', '3')];
    expect(slicesOf(records, interval)?.[0]).toEqual({ startMs: 1_005, rows: 9 });
  });

  test('that begin before the interval are added to the slice at its start', () => {
    const records = [record('900', '2'), record('1005', '7'), record('1020', '3')];
    expect(slicesOf(records, interval)?.[0]).toEqual({ startMs: 1_005, rows: 9 });
  });

  test('may have figures with an exponent, and names in another case (10.3)', () => {
    expect(slicesOf([record('1.01E3', '2.0E1', ['_timeSlice', '_Count'])], interval)).toEqual([
      { startMs: 1_010, rows: 20 },
    ]);
  });

  test.each([
    [[record('', '3')]],
    [[record('1010', '')]],
    [[record('1010', '2.5')]],
    [[record('yesterday', '2')]],
    [[record('1010', '2', ['_timeslice', 'n'])]],
    [[record('1010', '2'), record('1010', '3')]],
    [[record('900', '2'), record('900', '3')]],
  ])('that are something else count nothing: %o', (records) => {
    expect(slicesOf(records, interval)).toBeUndefined();
  });
});
