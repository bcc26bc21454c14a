/** Tests which object names are valid in a destination. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { folderSegments, nameProblem, nameSegments } from '../../../src/destination/store/object-name.ts';

describe('an object name', () => {
  test.each([
    ['plan.json', ['plan.json']],
    ['a/b c/d-1.2_3=4+5,6@7~8!(9).gz', ['a', 'b c', 'd-1.2_3=4+5,6@7~8!(9).gz']],
    ['Prüfung/日志', ['Prüfung', '日志']],
  ])('accepts %s', (name, segments) => {
    expect(nameSegments(name)).toEqual(segments);
  });

  test.each([
    ['', 'it is empty'],
    ['/etc/passwd', 'it must not begin with a slash'],
    ['a//b', 'it has two consecutive slashes'],
    ['a/', 'or ends with a slash'],
    ['a/../b', '".." begins with a dot'],
    ['a/.git', '".git" begins with a dot'],
    ['a\\b', 'has characters other than'],
    ['e\u0301', 'is not in Unicode'],
    ['-a', 'begins with a minus'],
    ['a /b', 'begins or ends with a space'],
    [`a/${'ü'.repeat(128)}`, 'is longer than 255 bytes'],
    [`${'a/'.repeat(512)}a`, 'it is longer than 1024 bytes'],
  ])('rejects %j: %s', (name, problem) => {
    expect(nameProblem(name)).toContain(problem);
    expect(() => nameSegments(name)).toThrow('is not a valid file name');
  });

  test('is escaped and shortened in the message that rejects it', () => {
    const tricky = 'a\u202eb\u001b[31m\u200b\u2028';
    expect(() => nameSegments(tricky)).toThrow('"a\\u202eb\\u001b[31m\\u200b\\u2028" is not a valid file name');
  });
});

test('accepts an empty name for the root folder', () => {
  expect(folderSegments('')).toEqual([]);
  expect(() => folderSegments('a/')).toThrow('is not a valid file name');
});

test('every accepted name stays below its root, in paths and in URLs', () => {
  const pieces = fc.oneof(
    fc.constantFrom('..', '.', '/', '%2e', '\\', '\0', '~', 'a', ' ', ':', '?', '#'),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      const name = parts.join('');
      if (nameProblem(name) !== undefined) return;
      const url = new URL(encodeURI(`file:///root/${name}`));
      expect(decodeURIComponent(url.pathname)).toBe(`/root/${name}`);
      expect(decodeURI(decodeURI(encodeURI(name)))).toBe(name);
    }),
    { numRuns: 2_000 },
  );
});
