/** The oracles see: for each of the rules U1 to U14, and for those of rollouts, a program that breaks it is caught. */
import { expect, test } from 'vitest';
import { countFrom, HistoryPool, upgradeHistories } from './history-pool.ts';
import type { WorkerReply } from './history-worker.ts';
import { mutants } from './mutants.ts';

const mostSeeds = 60;

test.concurrent.each(mutants)('$rule: $name', { timeout: 120_000 }, async ({ directions, mutations }) => {
  const pool = new HistoryPool({ threads: 1, mutations, worker: upgradeHistories });
  try {
    const onReply = ({ violations }: WorkerReply) => violations.length > 0;
    expect(await pool.run({ seeds: countFrom(1, mostSeeds), directions, onReply })).not.toEqual([]);
  } finally {
    await pool.close();
  }
});

test('each rule has a mutant', () => {
  const numbered = Array.from({ length: 14 }, (_, index) => `U${index + 1}`);
  const named = ['windows', 'stages', 'soak', 'approval', 'failures'];
  expect(new Set(mutants.map(({ rule }) => rule))).toEqual(new Set([...numbered, ...named]));
});
