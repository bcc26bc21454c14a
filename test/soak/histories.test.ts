/** Tests the whole operator with more random simulations than `make test`. */
import { describe, expect, test } from 'vitest';
import { directionNames as upgradeDirections } from '../simulation/directed-plans.ts';
import { allSeeds } from '../simulation/directed-seeds.ts';
import { directionNames } from '../simulation/exports/directed-plans.ts';
import { countFrom, exportPool, upgradePool } from '../simulation/history-pool.ts';
import { exportProgram, upgradeProgram, violationsReported } from '../simulation/replay.ts';

const perTest = 50;
const tests = 40;
/** First seed of each test. */
const seeds = Array.from({ length: tests }, (_, index) => 1 + index * perTest);

const kinds = [
  { of: 'upgrades', pool: upgradePool, program: upgradeProgram },
  { of: 'exports', pool: exportPool, program: exportProgram },
];

describe.each(kinds)('simulations of $of', ({ pool, program }) => {
  test.each(seeds)('fifty from seed %i on', async (first) => {
    const violated = await pool.run({ seeds: countFrom(first, perTest) });
    expect(violated.map((reply) => violationsReported(program, reply))).toEqual([]);
  });
});

test.each(upgradeDirections)('simulations of upgrades with the plan %s', async (directions) => {
  const violated = await upgradePool.run({ seeds: allSeeds(directions), directions });
  expect(violated.map((reply) => violationsReported(upgradeProgram, reply, directions))).toEqual([]);
});

test.each(directionNames)('simulations of exports with the plan %s', async (directions) => {
  const violated = await exportPool.run({ seeds: countFrom(2, 11), directions });
  expect(violated.map((reply) => violationsReported(exportProgram, reply, directions))).toEqual([]);
});
