/** Tests that JSON values are compared as an API server compares them, regardless of the order of members. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalText, sameValue } from '../../../src/base/canonical-text.ts';

const value = fc.jsonValue({ maxDepth: 3 });

test('values are equal if and only if their canonical texts are equal', () => {
  fc.assert(
    fc.property(value, value, (left, right) => {
      expect(sameValue(left, right)).toBe(canonicalText(left) === canonicalText(right));
      expect(sameValue(left, JSON.parse(JSON.stringify(left)))).toBe(true);
    }),
    {
      examples: [
        [
          { a: 1, b: [2, null] },
          { b: [2, null], a: 1 },
        ],
        [{ a: 1 }, { a: 1, b: null }],
        [[], {}],
        [[1], [1, 2]],
      ],
    },
  );
});

test.each([
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: undefined }, { b: undefined }, true],
  [{ a: undefined, c: 1 }, { b: 1, c: 1 }, false],
  [{ a: { b: 1 } }, { a: { b: 2 } }, false],
  [undefined, {}, false],
  [null, {}, false],
])('%j and %j: %s', (left, right, same) => {
  expect(sameValue(left, right)).toBe(same);
  expect(sameValue(right, left)).toBe(same);
});
