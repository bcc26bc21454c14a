/** Integers of 64 bits from their digits, compared with BigInt. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IntegerStore } from '../../../src/output/integer-store.ts';

const smallest = -(2n ** 63n);
const largest = 2n ** 63n - 1n;

function stored(text: string): bigint | null | undefined {
  const store = new IntegerStore();
  store.add(1n);
  const bytes = Buffer.from(`"${text}"`);
  return store.addDigits(bytes, 1, bytes.length - 1) ? store.values()[1] : undefined;
}

test.each([smallest, smallest + 1n, -(2n ** 32n), -1n, 0n, 999_999n, 1_000_000n, 2n ** 32n, 2n ** 53n + 1n, largest])(
  '%s',
  (value) => {
    expect(stored(String(value))).toBe(value);
  },
);

test.each([largest + 1n, smallest - 1n, 10n ** 19n - 1n, -(10n ** 19n) + 1n, 10n ** 19n])('%s is too much', (value) => {
  expect(stored(String(value))).toBeUndefined();
});

test.each(['', '-', '+1', '1.0', '1e3', ' 1', '--1', '1-', '123456789x'])('%j is no integer', (text) => {
  expect(stored(text)).toBeUndefined();
});

test('any digits, also with zeros before them', () => {
  const texts = fc.tuple(fc.constantFrom('', '-'), fc.stringMatching(/^\d{1,19}$/)).map((both) => both.join(''));
  fc.assert(
    fc.property(texts, (text) => {
      const value = BigInt(text);
      expect(stored(text)).toBe(value >= smallest && value <= largest ? value : undefined);
    }),
  );
});

test('rows without a value stay between those with one', () => {
  const store = new IntegerStore();
  const values = Array.from({ length: 5_000 }, (_, row) => (row % 3 === 0 ? null : BigInt(row)));
  for (const round of [1, 2]) {
    for (const value of values) {
      if (value === null) store.addNull();
      else store.add(value * BigInt(round));
    }
    expect(store.values()).toEqual(values.map((value) => value && value * BigInt(round)));
    store.clear();
  }
});
