/** Tests the operator in simulated runs, each of which creates the conditions for one rule to apply. */
import { expect, test } from 'vitest';
import { directionNames } from './directed-plans.ts';
import { someSeeds } from './directed-seeds.ts';
import { upgradePool } from './history-pool.ts';
import { upgradeProgram, violationsReported } from './replay.ts';

test.each(directionNames)('%s', async (directions) => {
  const violated = await upgradePool.run({ seeds: someSeeds(directions), directions });
  expect(violated.map((reply) => violationsReported(upgradeProgram, reply, directions))).toEqual([]);
});
