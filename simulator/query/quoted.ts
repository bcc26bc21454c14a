/** Reads text in double quotes, and quoted names such as `%"user id"`. */
import type { Cursor } from './cursor.ts';
import { withoutWildcards } from './wildcard.ts';

const quotedForm = /"(?:[^"\\]|\\[\s\S])*"/y;

/** Reads text in double quotes, and keeps its backslashes. Returns undefined if the next character is not a quote. */
export function takeQuoted(cursor: Cursor): string | undefined {
  if (!cursor.startsWith('"')) return undefined;
  const start = cursor.offset;
  const quoted = cursor.match(quotedForm);
  if (quoted === undefined) throw cursor.error(start, 'this quote is not closed');
  return quoted.slice(1, -1);
}

/** Reads text in double quotes. Throws an error that names `expected` if the next character is not a quote. */
export function expectQuoted(cursor: Cursor, expected: string): string {
  const quoted = takeQuoted(cursor);
  if (quoted === undefined) throw cursor.expected(expected);
  return quoted;
}

/** Reads a field name, with or without quotes. */
export function takeName(cursor: Cursor): string | undefined {
  const start = cursor.offset;
  if (!cursor.take('%')) return cursor.takeBareName();
  const name = withoutWildcards(expectQuoted(cursor, 'a quoted name after %, such as %"user id"'));
  if (name === '') throw cursor.error(start, 'expected a name between the quotes');
  return name;
}

export function expectName(cursor: Cursor, expected = 'a field name'): string {
  const name = takeName(cursor);
  if (name === undefined) throw cursor.expected(expected);
  return name;
}

/** Reads a comma-separated list of field names. */
export function expectNames(cursor: Cursor): readonly string[] {
  const names = [expectName(cursor)];
  while (cursor.take(',')) names.push(expectName(cursor));
  return names;
}
