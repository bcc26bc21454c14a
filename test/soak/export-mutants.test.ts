/** Tests that simulated exports detect programs with one broken rule (E3 to E15). */
import { expect, test } from 'vitest';
import { exportMutants } from '../simulation/exports/mutants.ts';
import { exportHistories } from '../simulation/history-pool.ts';
import { whyUnseen } from '../simulation/mutant.ts';

const maxHistories = 40;

test.concurrent.each(exportMutants)('$rule: $name', async (mutant) => {
  expect(await whyUnseen(mutant, exportHistories, maxHistories)).toBe(undefined);
});

test('each rule has a mutant', () => {
  // These rules need no mutants, because other tests check them: E7 (reading of result pages), E12 (local times) and
  // E14 (failover).
  const numbered = [3, 4, 5, 6, 8, 9, 10, 11, 13, 15].map((number) => `E${number}`);
  expect([...new Set(exportMutants.map(({ rule }) => rule))]).toEqual(expect.arrayContaining(numbered));
});
