/** Tests random simulations of schedules with faults and kills (S1 to S6). */
import { expect, test } from 'vitest';
import { countFrom, schedulePool } from '../history-pool.ts';

const perTest = 10;

test.each([1, 11])('ten histories of schedules from seed %i on', { timeout: 300_000 }, async (first) => {
  expect(await schedulePool.run({ seeds: countFrom(first, perTest) })).toEqual([]);
});
