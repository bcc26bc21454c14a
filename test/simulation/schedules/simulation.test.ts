/** Tests random simulations of schedules with faults and kills (S1 to S6). */
import { expect, test } from 'vitest';
import { schedulePool } from '../history-pool.ts';

/**
 * Seeds of the simulations. Some of them lead to a certain event:
 * - 508: a status write is rejected with a conflict, although nobody else has changed the resource.
 * - 594, 772: an operator becomes the leader with a cache that is outdated until it lists the runs again.
 * - 833: both operators are killed before either has stored the start, and then the cron schedule is changed.
 * - 7_780_010: an operator becomes the leader with a cache that lacks the newest status of the schedule.
 */
const seeds = [1, 2, 3, 508, 594, 772, 833, 7_780_010];

test('random simulations of schedules break no rule, and contain gaps', async () => {
  const found: { readonly failedRuns: number; readonly storedGaps: number }[] = [];
  const onReply = ({ digest }: { readonly digest: string }) => {
    found.push(JSON.parse(digest));
    return false;
  };
  expect(await schedulePool.run({ seeds, onReply })).toEqual([]);
  // Without gaps, the simulations would not test rule S5.
  expect(found.filter(({ failedRuns }) => failedRuns > 0)).not.toEqual([]);
  expect(found.filter(({ storedGaps }) => storedGaps > 0)).not.toEqual([]);
});
