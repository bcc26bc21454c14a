import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDuration, renderDuration } from '../../../src/base/duration.ts';

describe('parseDuration', () => {
  test.each([
    ['1h30m', 5_400_000],
    ['90s', 90_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['0.5s', 500],
    ['0s', 0],
    ['1h1m1s1ms', 3_661_001],
    ['168h', 604_800_000],
  ])('%s is %d ms', (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs);
  });

  test.each(['', '5', '-5m', '+5m', '5 m', '1d', '5M', 'h', '1h 30m', '.5s', '1e3s', '5m\n'])(
    '%j is invalid',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe('renderDuration', () => {
  test.each([
    [0, '0s'],
    [-5, '0s'],
    [250, '250ms'],
    [45_000, '45s'],
    [5_400_000, '1h30m'],
    [604_800_000, '168h'],
    [3_661_001, '1h1m1s1ms'],
  ])('%d ms is %s', (durationMs, text) => {
    expect(renderDuration(durationMs)).toBe(text);
  });

  test('rendering and parsing are inverse', () => {
    fc.assert(
      fc.property(fc.nat(), (durationMs) => {
        expect(parseDuration(renderDuration(durationMs))).toBe(durationMs);
      }),
    );
  });
});
