/** Tests that simulated upgrades detect programs with one broken rule. */
import { expect, test } from 'vitest';
import { upgradeHistories } from '../simulation/history-pool.ts';
import { whyUnseen } from '../simulation/mutant.ts';
import { mutants } from '../simulation/mutants.ts';

const maxHistories = 150;

test.concurrent.each(mutants)('$rule: $name', async (mutant) => {
  expect(await whyUnseen(mutant, upgradeHistories, maxHistories)).toBe(undefined);
});

test('each rule has a mutant', () => {
  const numbered = Array.from({ length: 14 }, (_, index) => `U${index + 1}`);
  const named = [
    'windows',
    'members',
    'order',
    'soak',
    'approval',
    'inconclusive',
    'failures',
    'in progress',
    'R6',
    'R7',
    'R9',
  ];
  expect(new Set(mutants.map(({ rule }) => rule))).toEqual(new Set([...numbered, ...named]));
});
