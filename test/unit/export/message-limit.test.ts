import { describe, expect, test } from 'vitest';
import {
  type CutFacts,
  cutOf,
  cutSign,
  type RowOrder,
  smallestLimitAfter,
  wholeBuckets,
} from '../../../src/export/search/message-limit.ts';

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
      'when it was ended early while it ran (E13)',
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
    ['at the smallest known limit', done(7_777), 7_777, 'smallestLimit'],
    ['above the smallest known limit', done(7_778), 7_777, 'smallestLimit'],
    ['with 10,000 rows', done(10_000), undefined, 'roundCount'],
    ['with 100,000 rows, below a known limit', done(100_000), 200_000, 'roundCount'],
    ['with 123,000 rows', done(123_000), undefined, 'roundCount'],
  ])('%s', (_, facts, smallestLimit, sign) => {
    expect(cutSign(facts, smallestLimit, 'Messages')).toBe(sign);
  });

  test.each([
    ['with few rows, although the number is round', done(9_000), undefined],
    ['with many rows whose number is not round', done(99_999), undefined],
    ['with none', done(0), undefined],
    ['below the smallest limit', done(7_776), 7_777],
  ])('and is not cut %s', (_, facts, smallestLimit) => {
    expect(cutSign(facts, smallestLimit, 'Messages')).toBeUndefined();
  });

  test.each([
    ['with a round number of messages', done(10_000, true), undefined],
    ['unless it ended early', { ...done(10_000, true), state: 'gatheringResults' as const }, 'timeOver'],
  ])('and does not cut an aggregation %s', (_, facts, sign) => {
    expect(cutSign(facts, 7_777, 'Records')).toBe(sign);
  });

  test.each([
    ['decreases after a pause', { ...done(500), state: 'forcePaused' as const }, undefined, 500],
    ['decreases after a warning', done(500, true), 600, 500],
    ['stays if it is smaller', done(700, true), 600, 600],
    ['does not change after a round count', done(10_000), undefined, undefined],
    ['does not change after a pause without rows', { ...done(0), state: 'forcePaused' as const }, undefined, undefined],
  ])('and the known limit %s', (_, facts, before, after) => {
    expect(smallestLimitAfter(facts, before)).toBe(after);
  });
});

describe('a cut interval [100, 200) continues (E4)', () => {
  const order = (more: Partial<RowOrder>): RowOrder => ({
    byReceiptTime: false,
    oldestMs: 150,
    isDisordered: false,
    ...more,
  });
  test.each([
    ['after its oldest millisecond', order({}), { kind: 'at', atMs: 151 }],
    ['at its first millisecond', order({ oldestMs: 100 }), { kind: 'at', atMs: 101 }],
    ['as a dense millisecond in its last millisecond', order({ oldestMs: 199 }), { kind: 'dense', atMs: 199 }],
    ['in halves by receipt time', order({ byReceiptTime: true }), { kind: 'bisect', atMs: 150 }],
    ['in halves if rows were out of order', order({ isDisordered: true }), { kind: 'bisect', atMs: 150 }],
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

  test('in two halves that are not empty', () => {
    expect(cutOf({ fromMs: 100, toMs: 102 }, order({ byReceiptTime: true }))).toEqual({ kind: 'bisect', atMs: 101 });
  });
});

describe('whole buckets prove a cut interval [100, 300) (E6)', () => {
  const bucket = (startMs: number, count: number, lengthMs = 50) => ({ startMs, lengthMs, count });
  const histogram = (...buckets: ReturnType<typeof bucket>[]) => {
    return { buckets, total: buckets.reduce((sum, { count }) => sum + count, 0), addsUp: true };
  };
  test.each([
    ['after the oldest bucket', [bucket(150, 3), bucket(200, 4), bucket(250, 5)], { atMs: 200, rows: 9 }],
    ['even if some are omitted', [bucket(150, 3), bucket(250, 5)], { atMs: 200, rows: 5 }],
    ['even if all rows are in the oldest one', [bucket(150, 3)], { atMs: 200, rows: 0 }],
    ['even if some are empty', [bucket(100, 0), bucket(150, 3), bucket(200, 4)], { atMs: 200, rows: 4 }],
    ['but not if one extends beyond the end', [bucket(150, 3), bucket(180, 4)], undefined],
    ['but not if one bucket has all rows', [bucket(100, 3, 200)], undefined],
    ['but not if one is outside', [bucket(150, 3), bucket(300, 4)], undefined],
    ['but not if there are none', [], undefined],
  ])('%s', (_, buckets, expected) => {
    expect(wholeBuckets(histogram(...buckets), { fromMs: 100, toMs: 300 })).toEqual(expected);
  });

  test('but not when their counts do not add up', () => {
    const unsure = { ...histogram(bucket(150, 3), bucket(200, 4)), addsUp: false };
    expect(wholeBuckets(unsure, { fromMs: 100, toMs: 300 })).toBeUndefined();
  });
});
