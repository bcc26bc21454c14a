/** Tests the functions that decode JSON strings and find the end of a JSON value. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterString, nestedEnd, wordEnd, writeText } from '../../../src/output/json-text.ts';
import { texts, values, writings, writtenRow } from './rows.ts';

function said(json: string): string {
  const bytes = Buffer.from(`${json},`);
  const target = Buffer.alloc(bytes.length, '?');
  const end = writeText(target, 0, bytes, viewOf(bytes), 1, bytes.length - 2);
  return target.toString('utf8', 0, end);
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

test.each([
  ['"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'],
  ['"\\u0041\\u00e9\\u20AC\\uFFff"', 'Aé€\uffff'],
  ['"\\ud83d\\uDE00x"', '😀x'],
  ['"\\ud83d\\u0041"', '\ufffdA'],
  ['"\\ud83d\\ud83d\\ude00"', '\ufffd😀'],
  ['"\\ude00\\ud83d"', '\ufffd\ufffd'],
  ['"\\ud83dx"', '\ufffdx'],
  ['"\\ud83d\\n"', '\ufffd\n'],
  ['""', ''],
])('%s has the text %j', (json, text) => {
  expect(said(json)).toBe(text);
});

test('a string has the same text with any escapes', () => {
  fc.assert(
    fc.property(texts, writings, (text, { escapes }) => {
      const row = writtenRow([['a', text]], { space: '', escapes });
      expect(said(row.slice(row.indexOf(':') + 1, -1))).toBe(text.toWellFormed());
    }),
    { numRuns: 1_000 },
  );
});

test('finds the end of a value with any content', () => {
  fc.assert(
    fc.property(values, writings, fc.nat(20), (value, writing, before) => {
      const row = writtenRow([['a', [value]]], writing);
      const start = row.indexOf('[');
      const json = row.slice(start, row.lastIndexOf(']') + 1);
      const bytes = Buffer.from(`${' '.repeat(before)}${json},"]`);
      const end = before + Buffer.byteLength(json);
      expect(nestedEnd(bytes, viewOf(bytes), before, bytes.length)).toBe(end);
      if (typeof value !== 'string') return;
      const string = Buffer.from(`${JSON.stringify(value)}"\\`);
      expect(afterString(string, viewOf(string), 1, string.length)).toBe(string.length - 2);
    }),
    { numRuns: 1_000 },
  );
});

test.each(['-1.5e300,', 'true}', 'null]', '0 ', 'false\n'])('%j ends before its last character', (text) => {
  expect(wordEnd(Buffer.from(text), 0)).toBe(text.length - 1);
});
