/** Seeded histories of exports: whatever befalls them, each record has the rows that were there, and in the end all of them are there. */
import { afterAll, expect, test } from 'vitest';
import { countFrom, HistoryPool } from '../history-pool.ts';
import { runHistory } from './history.ts';
import { planExportHistory } from './plan.ts';
import { exportHistories, replayCommand } from './replay.ts';

const perTest = 200;
const firstSeeds = Array.from({ length: 10 }, (_, index) => 1 + index * perTest);
const pool = new HistoryPool({ threads: 2, worker: exportHistories });
afterAll(() => pool.close());

test.each(firstSeeds)('two hundred histories from seed %i on', { timeout: 120_000 }, async (first) => {
  const violated = await pool.run({ seeds: countFrom(first, perTest) });
  const told = violated.map(({ seed, violations }) => [replayCommand(seed), ...violations.slice(0, 3)].join('\n  '));
  expect(told).toEqual([]);
});

test.each([5, 31, 60])('history %i happens again exactly', async (seed) => {
  const [first, second] = [await runHistory(planExportHistory(seed)), await runHistory(planExportHistory(seed))];
  expect(second.record.journal).toEqual(first.record.journal);
  expect(second.digest).toBe(first.digest);
});
