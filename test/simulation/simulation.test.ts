/** Tests the whole operator with random simulated runs. No fault makes it break a rule, and each run comes to rest. */
import { expect, test } from 'vitest';
import { runHistory } from './history.ts';
import { countFrom, upgradePool } from './history-pool.ts';
import { planHistory } from './plan.ts';
import { upgradeProgram, violationsTold } from './replay.ts';

const perTest = 100;
const firstSeeds = Array.from({ length: 2 }, (_, index) => 1 + index * perTest);

test.each(firstSeeds)('a hundred histories from seed %i on', { timeout: 600_000 }, async (first) => {
  const violated = await upgradePool.run({ seeds: countFrom(first, perTest) });
  expect(violated.map((reply) => violationsTold(upgradeProgram, reply))).toEqual([]);
});

test.each([3, 61, 122, 148])('history %i happens again exactly', async (seed) => {
  const [first, second] = [await runHistory(planHistory(seed)), await runHistory(planHistory(seed))];
  expect(second.record.journal).toEqual(first.record.journal);
  expect(second.record.api).toEqual(first.record.api);
  expect(second.digest).toBe(first.digest);
});
