import { expect, test } from 'vitest';
import { waitingSearches } from '../../../src/export/work/running-searches.ts';

const waiting = (begunAtMs: number) => ({ begunAtMs, createdAtMs: undefined });

test.each([
  ['no search with a job', [{ begunAtMs: 0, createdAtMs: 50_000 }], 0, Number.POSITIVE_INFINITY],
  ['no search that has just begun', [waiting(59_000), waiting(57_000)], 0, 7_000],
  ['a search that began long ago; time alone adds none', [waiting(0), waiting(50_000)], 2, Number.POSITIVE_INFINITY],
  ['a search that began long ago; another one in five seconds', [waiting(0), waiting(55_000)], 1, 5_000],
])('waiting searches: counts %s', (_, searches, count, delayMs) => {
  expect(waitingSearches(searches, 60_000)).toEqual({ count, delayMs });
});
