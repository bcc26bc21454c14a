import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apportion, renderBar, renderLegend } from '../../../../src/cli/render/bars.ts';
import { paintWith } from '../../../../src/cli/render/paint.ts';
import { rollingStatus } from '../sample-policy.ts';

const plain = paintWith(false);
const counts = { ...rollingStatus.collectors!, newer: 0 };
const none = {
  matched: 0,
  updated: 0,
  inProgress: 0,
  pending: 0,
  failed: 0,
  offline: 0,
  newer: 0,
  skipped: 0,
  foreign: 0,
};

describe('renderBar', () => {
  it('gives each state its share, and at least one cell', () => {
    expect(renderBar(counts, 42, plain)).toBe('[███████████████████████████████████▓░░×○]'.padEnd(42));
  });

  it('is empty without collectors', () => {
    expect(renderBar(none, 6, plain)).toBe('[    ]');
  });

  it('colours each state', () => {
    expect(renderBar({ ...none, matched: 2, updated: 1, failed: 1 }, 4, paintWith(true))).toBe(
      '[\u001b[32m█\u001b[39m\u001b[31m×\u001b[39m]',
    );
  });
});

describe('apportion', () => {
  it('uses all cells, none for 0, and at least one for each other amount', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(100_000), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 8, max: 120 }),
        (amounts, cells) => {
          const shares = apportion(amounts, cells);
          const spent = shares.reduce((sum, share) => sum + share, 0);
          expect(spent).toBe(amounts.some((amount) => amount > 0) ? cells : 0);
          for (const [index, amount] of amounts.entries()) expect((shares[index] ?? 0) > 0).toBe(amount > 0);
        },
      ),
    );
  });

  it('works with fewer cells than states', () => {
    expect(apportion([5, 3, 1], 2)).toEqual([1, 1, 0]);
    expect(apportion([5, 3, 1], 0)).toEqual([0, 0, 0]);
  });
});

describe('the legend', () => {
  it('names the states with collectors, and wraps', () => {
    expect(renderLegend(counts, 45, plain)).toEqual([
      '█ updated 180  ▓ in progress 6  ░ pending 9',
      '× failed 2  ○ offline 3',
    ]);
  });
});
