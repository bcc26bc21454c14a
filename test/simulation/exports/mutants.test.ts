/** Shows that the oracles work: for nearly every rule from E3 to E15, and for limits, they detect a program that breaks it. */
import { expect, test } from 'vitest';
import { countFrom, exportHistories, HistoryPool } from '../history-pool.ts';
import { whyUnseen } from '../mutant.ts';
import { directionNames } from './directed-plans.ts';
import { exportMutants } from './mutants.ts';

const mostSeeds = 40;
/** A day of virtual time takes seconds. */
const isLong = (directions: string) => directions.endsWith('ndless');

test.concurrent.each(exportMutants)('$rule: $name', { timeout: 600_000 }, async (mutant) => {
  expect(await whyUnseen(mutant, exportHistories, mostSeeds)).toBe(undefined);
});

test('each rule has a mutant', () => {
  // Histories cover neither local times (E12) nor a deployment that moves (E14).
  const numbered = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15].map((number) => `E${number}`);
  expect([...new Set(exportMutants.map(({ rule }) => rule))]).toEqual(expect.arrayContaining(numbered));
});

test.each(directionNames)(
  'the program as it is holds the rules where histories are %s',
  { timeout: 600_000 },
  async (directions) => {
    const pool = new HistoryPool({ threads: 1, worker: exportHistories });
    try {
      expect(await pool.run({ seeds: countFrom(1, isLong(directions) ? 1 : 5), directions })).toEqual([]);
    } finally {
      await pool.close();
    }
  },
);
