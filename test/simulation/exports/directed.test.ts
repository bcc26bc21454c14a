/** Tests the simulated exports in `directed-plans.ts`, each of which triggers one special case. */
import { expect, test } from 'vitest';
import { countFrom, exportPool } from '../history-pool.ts';
import { exportProgram, violationsReported } from '../replay.ts';
import { directionNames } from './directed-plans.ts';

const perKind = 1;

test.each(directionNames)('%s', async (directions) => {
  const violated = await exportPool.run({ seeds: countFrom(1, perKind), directions });
  expect(violated.map((reply) => violationsReported(exportProgram, reply, directions))).toEqual([]);
});
