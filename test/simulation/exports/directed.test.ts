/** Directed export histories, each of which leads to a situation that one rule governs. `make soak` runs more of each kind. */
import { expect, test } from 'vitest';
import { countFrom, exportPool } from '../history-pool.ts';
import { exportProgram, violationsTold } from '../replay.ts';
import { directionNames } from './directed-plans.ts';

const perKind = 2;

test.each(directionNames)('%s', { timeout: 600_000 }, async (directions) => {
  const violated = await exportPool.run({ seeds: countFrom(1, perKind), directions });
  expect(violated.map((reply) => violationsTold(exportProgram, reply, directions))).toEqual([]);
});
