/** Tests the whole operator in random simulated runs. No fault makes the operator break a rule. */
import { expect, test } from 'vitest';
import { runHistory } from './history.ts';
import { countFrom, upgradePool } from './history-pool.ts';
import { planHistory } from './plan.ts';
import { upgradeProgram, violationsReported } from './replay.ts';

test('ten random simulations break no rule', async () => {
  const violated = await upgradePool.run({ seeds: countFrom(1, 10) });
  expect(violated.map((reply) => violationsReported(upgradeProgram, reply))).toEqual([]);
});

test.each([3, 61])('simulation %i is exactly the same in a second run', async (seed) => {
  const [first, second] = [await runHistory(planHistory(seed)), await runHistory(planHistory(seed))];
  expect(second.record.journal).toEqual(first.record.journal);
  expect(second.record.api).toEqual(first.record.api);
  expect(second.digest).toBe(first.digest);
});
