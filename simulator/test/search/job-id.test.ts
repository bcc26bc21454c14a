/** Tests that a search job's id is computed from a counter, and can be converted back to the counter value. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobIdOf, jobNumberOf } from '../../search/job-id.ts';

const seeds = fc.integer({ min: -(2 ** 31), max: 2 ** 31 });
const numbers = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

test('the number can be computed from the id', () => {
  fc.assert(
    fc.property(numbers, seeds, (number, seed) => {
      const id = jobIdOf(number, seed);
      expect(id).toMatch(/^[0-9A-F]{16}$/);
      expect(jobNumberOf(id, seed)).toBe(number);
    }),
  );
});

test.each(['', '0', '00000000000000000', '000000000000000G', '0123456789abcdef'])('%j is not the id of a job', (id) => {
  expect(jobNumberOf(id, 1)).toBeUndefined();
});

test('consecutive ids have different beginnings', () => {
  const beginnings = Array.from({ length: 100 }, (_, number) => jobIdOf(number, 1).slice(0, 4));
  expect(new Set(beginnings).size).toBeGreaterThan(95);
});
