/** Tests that simulated schedules detect programs with one broken rule (S1 to S6). */
import { expect, test } from 'vitest';
import { scheduleHistories } from '../simulation/history-pool.ts';
import { whyUnseen } from '../simulation/mutant.ts';
import { scheduleMutants } from '../simulation/schedules/mutants.ts';

const maxHistories = 150;

test.concurrent.each(scheduleMutants)('$rule: $name', async (mutant) => {
  expect(await whyUnseen(mutant, scheduleHistories, maxHistories)).toBe(undefined);
});

test('each rule has a mutant', () => {
  // Rule S4 needs no mutant, because unit tests check schedules on days with clock changes.
  expect(new Set(scheduleMutants.map(({ rule }) => rule))).toEqual(new Set(['S1', 'S2', 'S3', 'S5', 'S6']));
});
