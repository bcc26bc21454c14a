/** Histories that lead to where one rule decides; among them every boundary of an attempt at which a process can be killed (U15). */
import { expect, test } from 'vitest';
import { directionNames } from './directed-plans.ts';
import { countFrom, upgradePool } from './history-pool.ts';
import { upgradeProgram, violationsTold } from './replay.ts';

/** A kill before and after each of the first requests of a small rollout; a few of each other kind. */
const counts: Readonly<Record<string, number>> = {
  killed: 80,
  killedLagging: 80,
  killedFailing: 80,
  lost: 40,
  lostFailing: 40,
  staged: 20,
  takenBack: 20,
  restored: 20,
};
const usualCount = 6;

test.each(directionNames)('%s', { timeout: 600_000 }, async (directions) => {
  const violated = await upgradePool.run({ seeds: countFrom(1, counts[directions] ?? usualCount), directions });
  expect(violated.map((reply) => violationsTold(upgradeProgram, reply, directions))).toEqual([]);
});
