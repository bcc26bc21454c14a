/** Tests dictionaries of eight-byte values in Parquet files. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WordDictionary } from '../../../src/output/word-store.ts';

function halvesOf(values: readonly bigint[]): Int32Array {
  return new Int32Array(BigInt64Array.from(values).buffer);
}

test('contains all values in the order of their first occurrence', () => {
  const dictionary = new WordDictionary();
  // The 64-bit values are chosen so that many of them share their upper or lower half.
  const known = fc.tuple(fc.bigInt(-3n, 3n), fc.bigInt(0n, 3n)).map(([high, low]) => high * 2n ** 32n + low);
  fc.assert(
    fc.property(fc.array(known, { minLength: 300, maxLength: 3_000 }), (values) => {
      const different = [...new Set(values)];
      expect(dictionary.take(halvesOf(values))).toBe(true);
      expect(dictionary.size).toBe(different.length);
      expect(dictionary.words.subarray(0, 2 * dictionary.size)).toEqual(halvesOf(different));
      const found = Array.from(dictionary.indexes.subarray(0, values.length), (index) => different[index]);
      expect(found).toEqual(values);
    }),
    { numRuns: 20 },
  );
});

test.each([
  { what: 'no values', values: [], pays: false },
  { what: 'one', values: [1n], pays: false },
  { what: 'two different ones', values: [1n, 2n], pays: false },
  { what: 'a hundred equal ones', values: Array(100).fill(1n), pays: true },
  {
    what: 'a hundred different ones',
    values: Array.from({ length: 100 }, (_, n) => BigInt(n)),
    pays: false,
  },
  { what: 'a hundred, each twice', values: Array.from({ length: 200 }, (_, n) => BigInt(n % 100)), pays: false },
  { what: 'a hundred, each four times', values: Array.from({ length: 400 }, (_, n) => BigInt(n % 100)), pays: true },
])('saves memory for $what: $pays', ({ values, pays }) => {
  const dictionary = new WordDictionary();
  expect(dictionary.take(halvesOf(values))).toBe(pays);
  // Uses the dictionary a second time. The first use must not affect the result.
  expect(dictionary.take(halvesOf(values))).toBe(pays);
});
