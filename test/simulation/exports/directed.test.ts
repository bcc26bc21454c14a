/** Histories of exports that lead to where one rule decides. */
import { expect, test } from 'vitest';
import { countFrom, exportPool } from '../history-pool.ts';
import { exportProgram, violationsTold } from '../replay.ts';
import { directionNames } from './directed-plans.ts';

/** A day of virtual time takes seconds. */
const isLong = (directions: string) => directions.endsWith('ndless');

test.each(directionNames)('%s', { timeout: 600_000 }, async (directions) => {
  const violated = await exportPool.run({ seeds: countFrom(1, isLong(directions) ? 1 : 5), directions });
  expect(violated.map((reply) => violationsTold(exportProgram, reply, directions))).toEqual([]);
});
