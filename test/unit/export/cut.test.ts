import { describe, expect, test } from 'vitest';
import {
  type CutFacts,
  countByBuckets,
  cutOf,
  cutSign,
  type RowOrder,
  smallestLimitAfter,
} from '../../../src/export/cut.ts';

const done = (messageCount: number, isLimitReached = false): CutFacts => ({
  state: 'doneGatheringResults',
  messageCount,
  isLimitReached,
});

describe('a search was cut (E4)', () => {
  test.each([
    ['when it is FORCE PAUSED', { ...done(7), state: 'forcePaused' as const }, undefined, 'forcePaused'],
    ['when a warning says so', done(7, true), undefined, 'warning'],
    [
      'when it was given up while it ran (E13)',
      { ...done(7), state: 'gatheringResults' as const },
      undefined,
      'timeOver',
    ],
    [
      'when it has only a histogram (E13)',
      { ...done(7), state: 'doneGatheringHistogram' as const },
      undefined,
      'timeOver',
    ],
    ['at the smallest limit ever seen', done(7_777), 7_777, 'smallestLimit'],
    ['beyond the smallest limit ever seen', done(7_778), 7_777, 'smallestLimit'],
    ['with 10,000 rows', done(10_000), undefined, 'roundCount'],
    ['with 100,000 rows, below a limit seen', done(100_000), 200_000, 'roundCount'],
    ['with 123,000 rows', done(123_000), undefined, 'roundCount'],
  ])('%s', (_, facts, smallestLimit, sign) => {
    expect(cutSign(facts, smallestLimit)).toBe(sign);
  });

  test.each([
    ['with few rows, though a round number', done(9_000), undefined],
    ['with many, not a round number', done(99_999), undefined],
    ['with none', done(0), undefined],
    ['below the smallest limit', done(7_776), 7_777],
  ])('and was not %s', (_, facts, smallestLimit) => {
    expect(cutSign(facts, smallestLimit)).toBeUndefined();
  });

  test.each([
    ['learns from a pause', { ...done(500), state: 'forcePaused' as const }, undefined, 500],
    ['learns from a warning', done(500, true), 600, 500],
    ['keeps the smaller one', done(700, true), 600, 600],
    ['learns nothing from a round count', done(10_000), undefined, undefined],
    ['learns nothing from a pause without rows', { ...done(0), state: 'forcePaused' as const }, undefined, undefined],
  ])('whose limit %s', (_, facts, before, after) => {
    expect(smallestLimitAfter(facts, before)).toBe(after);
  });
});

describe('a cut interval [100, 200) goes on (E4)', () => {
  const order = (more: Partial<RowOrder>): RowOrder => ({
    byReceiptTime: false,
    oldestMs: 150,
    isDisordered: false,
    ...more,
  });
  test.each([
    ['behind the oldest millisecond', order({}), { kind: 'at', atMs: 151 }],
    ['at its first millisecond', order({ oldestMs: 100 }), { kind: 'at', atMs: 101 }],
    ['as dense in its last millisecond', order({ oldestMs: 199 }), { kind: 'dense', atMs: 199 }],
    ['in halves by receipt time', order({ byReceiptTime: true }), { kind: 'bisect', atMs: 150 }],
    ['in halves where rows were out of order', order({ isDisordered: true }), { kind: 'bisect', atMs: 150 }],
    ['in halves without a row', order({ oldestMs: undefined }), { kind: 'bisect', atMs: 150 }],
  ])('%s', (_, rows, expected) => {
    expect(cutOf({ fromMs: 100, toMs: 200 }, rows)).toEqual(expected);
  });

  test.each([
    ['by message time', order({ oldestMs: 100 })],
    ['by receipt time', order({ byReceiptTime: true })],
    ['without a row', order({ oldestMs: undefined })],
  ])('and a single millisecond is dense %s', (_, rows) => {
    expect(cutOf({ fromMs: 100, toMs: 101 }, rows)).toEqual({ kind: 'dense', atMs: 100 });
  });

  test('in halves that both have something', () => {
    expect(cutOf({ fromMs: 100, toMs: 102 }, order({ byReceiptTime: true }))).toEqual({ kind: 'bisect', atMs: 101 });
  });
});

describe('buckets count an interval (E6)', () => {
  const buckets = [
    { startMs: 100, lengthMs: 50, count: 3 },
    { startMs: 150, lengthMs: 50, count: 4 },
    { startMs: 200, lengthMs: 50, count: 5 },
  ];
  const histogram = { buckets, total: 12, addsUp: true };
  test.each([
    ['when it begins with one', 150, 240, 9],
    ['when it begins where the last one does', 200, 250, 5],
    ['when it is all of them', 0, 1_000, 12],
    ['when none is in it', 250, 300, 0],
    ['but not when one begins before it', 151, 250, undefined],
  ])('%s', (_, fromMs, toMs, expected) => {
    expect(countByBuckets(histogram, { fromMs, toMs })).toBe(expected);
  });

  test('but not when they do not add up', () => {
    expect(countByBuckets({ ...histogram, addsUp: false }, { fromMs: 0, toMs: 1_000 })).toBeUndefined();
  });
});
