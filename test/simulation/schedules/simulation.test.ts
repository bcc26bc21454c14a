/** Tests random simulations of schedules with faults and kills (S1 to S6). */
import { expect, test } from 'vitest';
import { countFrom, schedulePool } from '../history-pool.ts';

test('three random simulations of schedules break no rule', { timeout: 300_000 }, async () => {
  expect(await schedulePool.run({ seeds: countFrom(1, 3) })).toEqual([]);
});
