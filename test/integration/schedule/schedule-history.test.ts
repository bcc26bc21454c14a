/** Tests random histories of schedules with faults and kills (S1 to S6). `make soak` runs many more of them. */
import { expect, test } from 'vitest';
import { scheduleHistory } from './schedule-history.ts';

const seeds = Array.from({ length: 60 }, (_, index) => index + 1);

test.each(seeds)('history %i covers every moment once', async (seed) => {
  expect(await scheduleHistory(seed)).toEqual([]);
});
