/**
 * Tests the operator with simulated runs that each lead to the situations to which one rule applies. `make soak` runs ten times as many:
 * it kills the process at every request, also when the list lags or upgrades fail.
 */
import { expect, test } from 'vitest';
import { directionNames } from './directed-plans.ts';
import { someSeeds } from './directed-seeds.ts';
import { upgradePool } from './history-pool.ts';
import { upgradeProgram, violationsTold } from './replay.ts';

test.each(directionNames)('%s', { timeout: 600_000 }, async (directions) => {
  const violated = await upgradePool.run({ seeds: someSeeds(directions), directions });
  expect(violated.map((reply) => violationsTold(upgradeProgram, reply, directions))).toEqual([]);
});
