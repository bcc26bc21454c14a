/**
 * Tests exports with random simulated runs. Despite all faults, the exported files have exactly the rows that existed.
 */
import { expect, test } from 'vitest';
import { countFrom, exportPool } from '../history-pool.ts';
import { exportProgram, violationsTold } from '../replay.ts';
import { runHistory } from './history.ts';
import { planExportHistory } from './plan.ts';

const perTest = 100;
const firstSeeds = Array.from({ length: 2 }, (_, index) => 1 + index * perTest);

test.each(firstSeeds)('a hundred histories from seed %i on', { timeout: 600_000 }, async (first) => {
  const violated = await exportPool.run({ seeds: countFrom(first, perTest) });
  expect(violated.map((reply) => violationsTold(exportProgram, reply))).toEqual([]);
});

// With seeds 10 and 47, whole operators run.
test.each([5, 10, 31, 47, 60])('history %i happens again exactly', async (seed) => {
  const [first, second] = [await runHistory(planExportHistory(seed)), await runHistory(planExportHistory(seed))];
  expect(second.record.journal).toEqual(first.record.journal);
  expect(second.digest).toBe(first.digest);
});
