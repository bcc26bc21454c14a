/** Parses the search before the first `|` of a query, for example `_sourceCategory=prod/* "timed out" NOT debug`. */
import { parseBoolean } from './boolean-expression.ts';
import type { Cursor } from './cursor.ts';
import { everything, type Predicate } from './predicate.ts';
import { takeQuoted } from './quoted.ts';
import { termTest } from './term.ts';
import { cutAtWildcards, type Segments, wildcardTest, withoutWildcards } from './wildcard.ts';

/** A word, which ends at whitespace or a special character. A backslash escapes a special character. */
const bareForm = /(?:\\[\\"*]|(?!!=)[^\s()"|=<>,])+/y;

const bareName =
  'expected an unquoted field name before "=", such as nested.a=*: compare other fields after "|", for example | where %"user id" = 7';

const keywordForm = /^(?:and|or|not)$/i;

const costs = { field: 1, word: 10 } as const;

export function parseSearch(cursor: Cursor): Predicate {
  return parseBoolean(cursor, { parse: () => parseTerm(cursor), sideBySide: true });
}

function parseTerm(cursor: Cursor): Predicate {
  const start = cursor.offset;
  const phrase = takeQuoted(cursor);
  if (phrase !== undefined) {
    if (phrase === '') throw cursor.error(start, 'expected text between the quotes');
    if (cursor.startsWith('=') || cursor.startsWith('!=')) throw cursor.error(start, bareName);
    return wordPredicate([withoutWildcards(phrase)]);
  }
  const bare = cursor.match(bareForm);
  if (bare === undefined || keywordForm.test(bare))
    throw cursor.expected('a word, a "phrase", field=value, * or (', start);
  const negated = cursor.take('!=');
  if (negated || cursor.take('=')) return parseValue(cursor, bare, start, negated);
  const segments = cutAtWildcards(bare);
  return segments.every((segment) => segment === '') ? everything : wordPredicate(segments);
}

function wordPredicate(segments: Segments): Predicate {
  const stands = termTest(segments);
  return {
    reads: new Set(['_raw']),
    cost: costs.word,
    holds(fields) {
      const raw = fields.field('_raw');
      return raw !== undefined && stands(String(raw));
    },
  };
}

/**
 * Parses the value in a condition such as `_sourceHost=web*`. A missing field does not match any value, not even `*`.
 */
function parseValue(cursor: Cursor, field: string, start: number, negated: boolean): Predicate {
  const segments = cutAtWildcards(field);
  if (segments.length > 1) throw cursor.error(start, `expected a field name before "=", but field names have no "*"`);
  const name = segments[0].toLowerCase();
  const fits = wildcardTest(cutAtWildcards(expectValue(cursor)));
  return {
    reads: new Set([name]),
    cost: costs.field,
    holds(fields) {
      const value = fields.field(name);
      return (value !== undefined && fits(String(value))) !== negated;
    },
  };
}

function expectValue(cursor: Cursor): string {
  cursor.skipBlanks();
  const value = takeQuoted(cursor) ?? cursor.match(bareForm);
  if (value === undefined) throw cursor.expected('a value, such as prod/* or "two words"');
  return value;
}
