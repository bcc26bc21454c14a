/** Tests how the operator estimates the duration of an upgrade from earlier upgrades. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import { typicalAfter } from '../../../src/policy/attempts/upgrade-duration.ts';

/**
 * Returns the estimated duration of an upgrade in ms. Each pair has two times of an earlier upgrade, in ms since its
 * start: when it was first found to have ended, and when it was last found running.
 */
function learnt(...looks: readonly (readonly [number, number])[]): number | undefined {
  let typicalMs: number | undefined;
  for (const [endedByMs, unendedAtMs] of looks) typicalMs = typicalAfter(typicalMs, { endedByMs, unendedAtMs });
  return typicalMs;
}

test('is unknown before the first end', () => {
  expect(learnt()).toBeUndefined();
});

test('is the first observed end', () => {
  expect(learnt([90_000, 80_000])).toBe(90_000);
});

describe('later observations', () => {
  test('of an earlier end reduce the estimate a little', () => {
    expect(learnt([100_000, 0], [50_000, 0])).toBe(99_000);
  });

  test('of an upgrade that takes longer increase the estimate', () => {
    expect(learnt([100_000, 0], [150_000, 110_000])).toBe(105_000);
    expect(learnt([100_000, 0], [150_000, 100_000])).toBe(105_000);
  });

  test.each([
    ['a later end without an earlier read', [150_000, 0]],
    ['a later end with a read before it that showed the upgrade in progress', [150_000, 99_999]],
    ['an end at the estimate', [100_000, 0]],
  ] as const)('%s says nothing', (_, look) => {
    expect(learnt([100_000, 0], look)).toBe(100_000);
  });

  test('the estimate is never longer than the timeout in section 8', () => {
    expect(learnt([120 * minuteMs, 0])).toBe(30 * minuteMs);
    const looks = Array.from({ length: 500 }, () => [120 * minuteMs, 119 * minuteMs] as const);
    expect(learnt([minuteMs, 0], ...looks)).toBe(30 * minuteMs);
  });
});

test('the estimate converges to the time at which nearly all upgrades have ended, from any start', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1_000, max: 20 * minuteMs }), (seed, firstMs) => {
      const random = seededRandom(seed);
      let typicalMs = typicalAfter(undefined, { endedByMs: firstMs, unendedAtMs: 0 });
      for (let index = 0; index < 1_000; index++) {
        const lookMs = typicalMs;
        const tookMs = (2 + 2 * random.next()) * minuteMs;
        const late = tookMs > lookMs;
        const sample = { endedByMs: late ? tookMs + 5_000 : tookMs, unendedAtMs: late ? lookMs : 0 };
        typicalMs = typicalAfter(typicalMs, sample);
      }
      expect(typicalMs).toBeGreaterThan(2.5 * minuteMs);
      expect(typicalMs).toBeLessThan(4.2 * minuteMs);
    }),
    { numRuns: 30 },
  );
});
