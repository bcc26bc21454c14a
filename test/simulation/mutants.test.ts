/** The oracles see: for each of the rules U1 to U14, and for those of rollouts, a program that breaks it is caught. */
import { expect, test } from 'vitest';
import { upgradeHistories } from './history-pool.ts';
import { whyUnseen } from './mutant.ts';
import { mutants } from './mutants.ts';

const mostSeeds = 150;

test.concurrent.each(mutants)('$rule: $name', { timeout: 600_000 }, async (mutant) => {
  expect(await whyUnseen(mutant, upgradeHistories, mostSeeds)).toBe(undefined);
});

test('each rule has a mutant', () => {
  const numbered = Array.from({ length: 14 }, (_, index) => `U${index + 1}`);
  const named = ['windows', 'stages', 'soak', 'approval', 'failures', 'R7', 'R9'];
  expect(new Set(mutants.map(({ rule }) => rule))).toEqual(new Set([...numbered, ...named]));
});
