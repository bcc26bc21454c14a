import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRunTimes, runName, runTimes } from '../../../src/schedule/run-name.ts';

const at = Date.parse;

describe('runName', () => {
  it.each([
    ['2026-11-22T12:00:00Z', '2026-11-22T13:00:00Z', 'errors-20261122t120000z-130000z'],
    ['2026-11-22T23:00:00Z', '2026-11-23T00:00:00Z', 'errors-20261122t230000z-20261123t000000z'],
    ['2026-11-22T00:00:00Z', '2026-12-01T00:00:00Z', 'errors-20261122t000000z-20261201t000000z'],
  ])('names the run from %s to %s', (from, to, name) => {
    expect(runName('errors', { fromMs: at(from), toMs: at(to) })).toBe(name);
  });

  it('is at most 190 characters long for the longest name of a schedule', () => {
    const span = { fromMs: at('2026-11-22T00:00:00Z'), toMs: at('2026-12-01T00:00:00Z') };
    expect(runName('x'.repeat(150), span).length).toBeLessThanOrEqual(190);
  });

  it('contains the exact time range, which can be read back', () => {
    const seconds = fc.integer({ min: 0, max: at('2100-01-01T00:00:00Z') / 1_000 });
    fc.assert(
      fc.property(seconds, fc.integer({ min: 1, max: 400 * 24 * 3_600 }), (from, length) => {
        const span = { fromMs: from * 1_000, toMs: (from + length) * 1_000 };
        expect(readRunTimes(runTimes(span))).toEqual(span);
      }),
    );
  });

  it.each([
    '',
    '20261122t120000z',
    '20261122t120000z-110000z',
    '20261322t120000z-130000z',
    '20261122t120000z-20261122t130000z',
  ])('refuses to read %j', (text) => {
    expect(readRunTimes(text)).toBeUndefined();
  });
});
