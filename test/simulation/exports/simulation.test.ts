/** Tests exports in random simulated runs. Despite all faults, the files contain exactly the rows that exist. */
import { expect, test } from 'vitest';
import { countFrom, exportPool } from '../history-pool.ts';
import { exportProgram, violationsReported } from '../replay.ts';
import { runHistory } from './history.ts';
import { planExportHistory } from './plan.ts';

test('ten random simulations break no rule', async () => {
  const violated = await exportPool.run({ seeds: countFrom(1, 10) });
  expect(violated.map((reply) => violationsReported(exportProgram, reply))).toEqual([]);
});

// Seed 5 simulates only the export. Seeds 10 and 47 also simulate the rest of the operator.
test.each([5, 10, 47])('simulation %i is exactly the same in a second run', async (seed) => {
  const [first, second] = [await runHistory(planExportHistory(seed)), await runHistory(planExportHistory(seed))];
  expect(second.record.journal).toEqual(first.record.journal);
  expect(second.digest).toBe(first.digest);
});
