import { describe, expect, test } from 'vitest';
import { seededRandom, systemRandom } from '../../../src/base/random.ts';

function draw(seed: number, count: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random.next());
}

describe('a seeded generator', () => {
  test('returns the same numbers for the same seed on every machine', () => {
    expect(draw(42, 3)).toEqual(draw(42, 3));
    expect(draw(42, 2).map((number) => Math.floor(number * 2 ** 32))).toEqual([2581720956, 1925393290]);
    expect(draw(42, 3)).not.toEqual(draw(43, 3));
  });

  test('is uniform in [0, 1)', () => {
    const tenths = new Array<number>(10).fill(0);
    for (const number of draw(1, 10_000)) tenths[Math.floor(number * 10)] = (tenths[Math.floor(number * 10)] ?? 0) + 1;
    expect(Math.min(...tenths)).toBeGreaterThan(850);
  });
});

test('the system generator returns numbers in [0, 1)', () => {
  const number = systemRandom.next();
  expect(number).toBeGreaterThanOrEqual(0);
  expect(number).toBeLessThan(1);
});
