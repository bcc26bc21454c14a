import { expect, test } from 'vitest';
import { waitingSearches } from '../../../src/export/waiting-searches.ts';

const waiting = (begunAtMs: number) => ({ begunAtMs, createdAtMs: undefined });

test.each([
  ['none that has its job', [{ begunAtMs: 0, createdAtMs: 50_000 }], 0, Number.POSITIVE_INFINITY],
  ['none that has just begun', [waiting(59_000), waiting(57_000)], 0, 7_000],
  ['who began long ago, and no more by and by', [waiting(0), waiting(50_000)], 2, Number.POSITIVE_INFINITY],
  ['who began long ago, and others by and by', [waiting(0), waiting(55_000)], 1, 5_000],
])('of searches that wait counts %s', (_, searches, count, delayMs) => {
  expect(waitingSearches(searches, 60_000)).toEqual({ count, delayMs });
});
