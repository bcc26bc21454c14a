/** The oracles see: for each of the rules U1 to U14, and for those of rollouts, a program that breaks it is caught. */
import { expect, test } from 'vitest';
import { countFrom, runHistories } from './history-pool.ts';
import { mutants } from './mutants.ts';

const mostSeeds = 60;

test.each(mutants)('$rule: $name', { timeout: 60_000 }, async ({ directions, mutations }) => {
  const violated = await runHistories({
    seeds: countFrom(1, mostSeeds),
    threads: 2,
    directions,
    mutations,
    onReply: ({ violations }) => violations.length > 0,
  });
  expect(violated).not.toEqual([]);
});

test('each rule has a mutant', () => {
  const numbered = Array.from({ length: 14 }, (_, index) => `U${index + 1}`);
  const named = ['windows', 'stages', 'soak', 'approval', 'failures'];
  expect(new Set(mutants.map(({ rule }) => rule))).toEqual(new Set([...numbered, ...named]));
});
