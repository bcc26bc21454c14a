import { describe, expect, test } from 'vitest';
import { parseQuantity } from '../../../src/base/quantity.ts';

describe('parseQuantity', () => {
  test.each([
    ['0', 0],
    ['1000000', 1_000_000],
    ['999999999999999', 999_999_999_999_999],
    ['1k', 1_000],
    ['1Ki', 1_024],
    ['256Mi', 268_435_456],
    ['1.5G', 1_500_000_000],
    ['0.5Gi', 536_870_912],
    ['1.001Ki', 1_025],
    ['1Ti', 2 ** 40],
    ['1P', 1e15],
    ['1Pi', 2 ** 50],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseQuantity(text)).toBe(bytes);
  });

  test.each([
    '',
    '-1',
    '+1',
    '1.5',
    '1 Gi',
    '1GiB',
    '256MB',
    '1K',
    '100m',
    '1E',
    '1e3',
    '.5Gi',
    '1.Gi',
    '1.0001Gi',
    '1Gi\n',
  ])('%j is invalid', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });
});
