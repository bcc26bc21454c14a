import { expect, test } from 'vitest';
import { bounded, boundedBytes, oneLine, shortened } from '../../../src/base/short-text.ts';

test('a limit never divides a character, which would make the text invalid', () => {
  expect([bounded('ab\u{1f600}', 3), bounded('ab\u{1f600}', 4)]).toEqual(['ab\ufffd', 'ab\u{1f600}']);
  expect([boundedBytes('ab\u{1f600}', 5), boundedBytes('ab\u{1f600}', 6)]).toEqual(['ab', 'ab\u{1f600}']);
});

test('only a text that is too long is shortened', () => {
  expect(['abc', 'abcd'].map((text) => shortened(text, 3))).toEqual(['abc', 'abc…']);
});

test('control characters and repeated spaces become one space', () => {
  expect(oneLine(' a\r\n\u001b  b ')).toBe('a b');
});
