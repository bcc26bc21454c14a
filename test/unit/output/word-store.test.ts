/** Tests the store for 64-bit integers: how it parses digits, and its limits. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WordStore } from '../../../src/output/word-store.ts';

const smallest = -(2n ** 63n);
const largest = 2n ** 63n - 1n;

function stored(text: string): unknown {
  const store = new WordStore();
  const bytes = Buffer.from(`"${text}"`);
  return store.addDigits(bytes, 1, bytes.length - 1) ? store.integerBounds.min : undefined;
}

test.each([smallest, smallest + 1n, -(2n ** 32n), -1n, 0n, 999_999n, 1_000_000n, 2n ** 32n, 2n ** 53n + 1n, largest])(
  '%s',
  (value) => {
    expect(stored(String(value))).toBe(value);
  },
);

test.each([largest + 1n, smallest - 1n, 10n ** 19n - 1n, -(10n ** 19n) + 1n, 10n ** 19n])(
  '%s is too large',
  (value) => {
    expect(stored(String(value))).toBeUndefined();
  },
);

test.each(['', '-', '+1', '1.0', '1e3', ' 1', '--1', '1-', '123456789x'])('%j is not an integer', (text) => {
  expect(stored(text)).toBeUndefined();
});

test('parses any digits, even with leading zeros', () => {
  const texts = fc.tuple(fc.constantFrom('', '-'), fc.stringMatching(/^\d{1,19}$/)).map((both) => both.join(''));
  fc.assert(
    fc.property(texts, (text) => {
      const value = BigInt(text);
      expect(stored(text)).toBe(value >= smallest && value <= largest ? value : undefined);
    }),
  );
});

test('has correct bounds of integers, counts missing values, and is empty after `clear`', () => {
  const store = new WordStore();
  const near = fc
    .bigInt(-3n, 3n)
    .chain((by) => fc.constantFrom(0n, 2n ** 31n, 2n ** 32n, -(2n ** 32n)).map((n) => n + by));
  const values = fc.array(fc.option(fc.oneof(near, fc.bigInt(smallest, largest))));
  fc.assert(
    fc.property(values, (values) => {
      store.clear();
      for (const value of values) {
        if (value === null) store.addNull();
        else store.add(value);
      }
      const integers = values.filter((value) => value !== null).toSorted((one, other) => (one < other ? -1 : 1));
      const nulls = values.length - integers.length;
      expect(store.integerBounds).toEqual({ min: integers.at(0), max: integers.at(-1), nulls });
    }),
  );
});

test.each([
  { values: [1.5, -2, 0.1], min: -2, max: 1.5, nans: 0 },
  { values: [0], min: -0, max: 0, nans: 0 },
  { values: [-0, Number.NaN], min: -0, max: 0, nans: 1 },
  { values: [Number.POSITIVE_INFINITY], min: Number.POSITIVE_INFINITY, max: Number.POSITIVE_INFINITY, nans: 0 },
  { values: [Number.NaN], nans: 1 },
  { values: [], nans: 0 },
])('$values have the bounds $min and $max', ({ values, ...bounds }) => {
  const store = new WordStore();
  for (const value of values) store.addDouble(value);
  store.addNull();
  expect(store.doubleBounds).toStrictEqual({ ...bounds, nulls: 1 });
});
