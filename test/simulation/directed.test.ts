/** Tests the operator with simulated runs that each lead to the situations to which one rule applies. */
import { expect, test } from 'vitest';
import { directionNames } from './directed-plans.ts';
import { countFrom, upgradePool } from './history-pool.ts';
import { upgradeProgram, violationsTold } from './replay.ts';

/**
 * Number of simulated runs of each kind. The kinds that kill a process need one run for each request of a small
 * rollout.
 */
const counts: Readonly<Record<string, number>> = {
  killed: 80,
  killedLagging: 80,
  killedFailing: 80,
  lost: 40,
  lostFailing: 40,
  staged: 20,
  rolledBack: 20,
  restored: 20,
};
const usualCount = 6;

test.each(directionNames)('%s', { timeout: 600_000 }, async (directions) => {
  const violated = await upgradePool.run({ seeds: countFrom(1, counts[directions] ?? usualCount), directions });
  expect(violated.map((reply) => violationsTold(upgradeProgram, reply, directions))).toEqual([]);
});
