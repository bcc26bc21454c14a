import { describe, expect, test } from 'vitest';
import { groupedText } from '../../../src/base/number-text.ts';
import { ExportPace } from '../../../src/export/status/export-pace.ts';
import { amountText, percentText } from '../../../src/export/work/figure-text.ts';

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1k'],
  [1_999, '1.9k'],
  [12_999, '12k'],
  [999_999, '999k'],
  [1_234_567, '1.2M'],
  [5e15, '5P'],
  [5e18, '5000P'],
])('%d is short for a table: %s', (amount, expected) => {
  expect(amountText(amount)).toBe(expected);
});

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1,000'],
  [1_234_567, '1,234,567'],
])('%d is complete: %s', (count, expected) => {
  expect(groupedText(count)).toBe(expected);
});

test.each([
  [0, '0%'],
  [0.999_999, '99%'],
  [1, '100%'],
  [0.29, '29%'],
])('%d as percentage is %s', (ratio, expected) => {
  expect(percentText(ratio)).toBe(expected);
});

describe('the rate', () => {
  type Sample = readonly [seconds: number, searchedRatio: number, rows: number];

  function paceOf(samples: readonly Sample[], digestMs: number | undefined = 0) {
    const pace = new ExportPace();
    for (const [seconds, searchedRatio, rows] of samples) {
      pace.add({ atMs: seconds * 1_000, searchedRatio, digestMs, rows, bytes: 100 * rows });
    }
    return pace.read();
  }

  test('is unknown after too short a time', () => {
    expect(paceOf([[0, 0, 0]])).toEqual({ rowsPerSecond: 0, bytesPerSecond: 0, leftMs: undefined });
    expect(
      paceOf([
        [0, 0, 0],
        [1, 0.5, 100],
      ]),
    ).toMatchObject({ rowsPerSecond: 0, leftMs: undefined });
  });

  test('is that of the last minute, and the rest is estimated from the last ten minutes', () => {
    const samples = Array.from({ length: 13 }, (_, index) => [index * 10, index / 100, index * 1_000] as const);
    expect(paceOf(samples)).toEqual({ rowsPerSecond: 100, bytesPerSecond: 10_000, leftMs: 880_000 });
    const [faster, seconds] = [[...samples, [130, 0.13, 24_000]] as const, 130];
    expect(paceOf(faster).rowsPerSecond).toBe(Math.round((24_000 - 7_000) / 60));
    expect(paceOf(faster).leftMs).toBeCloseTo((0.87 * seconds * 1_000) / 0.13);
  });

  test('includes the digest after the searches', () => {
    const searching = [
      [0, 0, 0],
      [10, 0.25, 1_000],
    ] as const;
    expect(paceOf(searching, 60_000).leftMs).toBe(30_000 + 60_000);
    const searched = [...searching, [40, 1, 4_000]] as const;
    expect(paceOf(searched, 60_000).leftMs).toBe(60_000);
  });

  test.each([0.25, 1])('is unknown if the duration of the digest is unknown, after %d of the searches', (ratio) => {
    const pace = new ExportPace();
    for (const [atMs, searchedRatio] of [
      [0, 0],
      [10_000, ratio],
    ] as const)
      pace.add({ atMs, searchedRatio, digestMs: undefined, rows: 0, bytes: 0 });
    expect(pace.read().leftMs).toBeUndefined();
  });

  test('starts again when the number of rows decreases', () => {
    expect(
      paceOf([
        [0, 0, 5_000],
        [10, 0.5, 10_000],
        [20, 0, 0],
        [30, 0.1, 1_000],
      ]).rowsPerSecond,
    ).toBe(100);
  });

  test('needs few samples', () => {
    const samples = Array.from({ length: 20_001 }, (_, index) => [index / 100, index / 40_000, index] as const);
    expect(paceOf(samples)).toMatchObject({ rowsPerSecond: 100, leftMs: expect.closeTo(200_000, -4) });
  });
});
