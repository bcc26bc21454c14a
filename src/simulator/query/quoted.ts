/** Texts in double quotes, and names that are written as such: `%"user id"`. */
import type { Cursor } from './cursor.ts';
import { withoutWildcards } from './wildcard.ts';

const quotedForm = /"(?:[^"\\]|\\[\s\S])*"/y;

/** What stands between the quotes, backslashes still in it; undefined where no quote stands here. */
export function takeQuoted(cursor: Cursor): string | undefined {
  if (!cursor.startsWith('"')) return undefined;
  const start = cursor.offset;
  const quoted = cursor.match(quotedForm);
  if (quoted === undefined) throw cursor.error(start, 'this quote has no end');
  return quoted.slice(1, -1);
}

/** `expected` with its article. */
export function expectQuoted(cursor: Cursor, expected: string): string {
  const quoted = takeQuoted(cursor);
  if (quoted === undefined) throw cursor.expected(expected);
  return quoted;
}

/** A name behind the first `|`, as it is written. */
export function takeName(cursor: Cursor): string | undefined {
  const start = cursor.offset;
  if (!cursor.take('%')) return cursor.takeBareName();
  const name = withoutWildcards(expectQuoted(cursor, 'a name in quotes behind %, as %"user id"'));
  if (name === '') throw cursor.error(start, 'expected a name between the quotes');
  return name;
}

export function expectName(cursor: Cursor, expected = 'the name of a field'): string {
  const name = takeName(cursor);
  if (name === undefined) throw cursor.expected(expected);
  return name;
}

/** Names with commas between. */
export function expectNames(cursor: Cursor): readonly string[] {
  const names = [expectName(cursor)];
  while (cursor.take(',')) names.push(expectName(cursor));
  return names;
}
