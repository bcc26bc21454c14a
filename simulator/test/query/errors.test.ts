/** Tests syntax errors in queries: their positions and messages. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseQuery } from '../../query/query.ts';
import { QueryError } from '../../query/query-error.ts';

function errorOf(text: string): QueryError | undefined {
  try {
    parseQuery(text);
    return undefined;
  } catch (error) {
    if (error instanceof QueryError) return error;
    throw error;
  }
}

const search = 'expected a word, a "phrase", field=value, * or (';
const value = 'expected a value, such as prod/* or "two words"';
const operators =
  'expected one of where, parse regex, json auto, timeslice, fields, limit, avg, count, count_distinct, max, min, sum';
const recordOperators = 'expected one of where, sort, limit, fields after an aggregation';
const operand = 'expected a field name, a number or quoted text';
const number = 'expected a number below 1.8e308, or an integer with at most 1000 digits';
const bareName =
  'expected an unquoted field name before "=", such as nested.a=*: compare other fields after "|", for example | where %"user id" = 7';
const comparison = 'expected one of =, !=, <, <=, >, >= or matches';
const slice = 'expected a slice length, such as 30s, 5m, 1h or 1d';
const end = 'but found the end of the query';

describe('errors have a position', () => {
  test.each<[string, number, string]>([
    ['', 0, `1:1: ${search}, ${end}`],
    ['  ', 2, `1:3: ${search}, ${end}`],
    ['a AND', 5, `1:6: ${search}, ${end}`],
    ['AND a', 0, `1:1: ${search}, but found "AND"`],
    ['a OR OR b', 5, `1:6: ${search}, but found "OR"`],
    ['NOT', 3, `1:4: ${search}, ${end}`],
    ['a , b', 2, `1:3: ${search}, but found ","`],
    ['size > 5', 5, `1:6: ${search}, but found ">"`],
    ['| count', 0, `1:1: ${search}, but found "|"`],
    ['(a', 2, `1:3: expected ")", ${end}`],
    ['()', 1, `1:2: ${search}, but found ")"`],
    ['a)', 1, '1:2: expected "|" or the end of the query, but found ")"'],
    ['a "b', 2, '1:3: this quote is not closed'],
    ['""', 0, '1:1: expected text between the quotes'],
    ['a=', 2, `1:3: ${value}, ${end}`],
    ['a=(b)', 2, `1:3: ${value}, but found "(b)"`],
    ['a %"nested.a"=*', 3, `1:4: ${bareName}`],
    ['"user id" != 7', 0, `1:1: ${bareName}`],
    ['a=b=c', 3, `1:4: ${search}, but found "=c"`],
    ['a*=b', 0, '1:1: expected a field name before "=", but field names have no "*"'],
    ['a\n  b\n|  foo', 9, `3:4: ${operators}, but found "foo"`],
    ['* |', 3, `1:4: ${operators}, ${end}`],
    ['* | averylongoperatorthatnobodyknows', 4, `1:5: ${operators}, but found "averylongoperatortha…"`],
    ['* | where', 9, `1:10: ${operand}, ${end}`],
    ['* | where a', 11, `1:12: ${comparison}, ${end}`],
    ['* | where a ~ 5', 12, `1:13: ${comparison}, but found "~"`],
    ['* | where a = ', 14, `1:15: ${operand}, ${end}`],
    ['* | where a = 5x', 14, `1:15: ${operand}, but found "5x"`],
    ['* | where a = 1e999', 14, `1:15: ${number}, but found "1e999"`],
    ['* | where a matches b', 20, '1:21: expected quoted text, such as "web-*", but found "b"'],
    ['* | where a=1 b=2', 14, '1:15: expected "|" or the end of the query, but found "b=2"'],
    ['* | where (a=1', 14, `1:15: expected ")", ${end}`],
    ['* | where %a = 1', 11, '1:12: expected a quoted name after %, such as %"user id", but found "a"'],
    ['* | where %"" = 1', 10, '1:11: expected a name between the quotes'],
    ['* | parse "x"', 10, String.raw`1:11: expected "regex", but found "\"x\""`],
    [
      '* | parse regex x',
      16,
      String.raw`1:17: expected a quoted regular expression, such as "user=(?<user>\w+)", but found "x"`,
    ],
    ['* | parse regex field "(?<a>.)"', 22, String.raw`1:23: expected "=", but found "\"(?<a>.)\""`],
    [
      '* | parse regex "x"',
      16,
      String.raw`1:17: expected a named group in the regular expression, such as (?<user>\w+)`,
    ],
    ['* | parse regex "(?<a>.)', 16, '1:17: this quote is not closed'],
    ['* | parse regex "(?<a>.)(?<A>.)"', 27, '1:28: there is already a group named A'],
    ['* | parse regex "(?<_raw>.)"', 20, '1:21: messages already have a field named _raw: use another name'],
    ['* | json', 8, `1:9: expected "auto", ${end}`],
    ['* | timeslice', 13, `1:14: ${slice}, ${end}`],
    ['* | timeslice 5', 14, `1:15: ${slice}, but found "5"`],
    ['* | timeslice 0m', 14, `1:15: ${slice}, but found "0m"`],
    ['* | timeslice 99999999999w', 14, `1:15: ${slice}, but found "99999999999w"`],
    ['* | timeslice 1m as _size', 20, '1:21: messages already have a field named _size: use another name'],
    ['* | fields', 10, `1:11: expected a field name, ${end}`],
    ['* | fields a,', 13, `1:14: expected a field name, ${end}`],
    ['* | limit', 9, `1:10: expected a whole number greater than 0, ${end}`],
    ['* | limit 0', 10, '1:11: expected a whole number greater than 0, but found "0"'],
    ['* | limit -1', 10, '1:11: expected a whole number greater than 0, but found "-1"'],
    [
      '* | limit 99999999999999999',
      10,
      '1:11: expected a whole number up to 9007199254740991, but found "99999999999999999"',
    ],
    ['* | limit 5 | where a=1', 14, '1:15: where might drop messages that limit has counted: put limit after it'],
    [
      '* | limit 5 | parse regex "(?<a>.)"',
      14,
      '1:15: parse regex without nodrop might drop messages that limit has counted: put limit after it',
    ],
    ['* | sort by a', 4, '1:5: sort works only on records: put it after an aggregation'],
    ['* | sum', 7, `1:8: expected "(" and a field name, such as sum(_size), ${end}`],
    ['* | sum(*)', 8, '1:9: expected a field name, but found "*)"'],
    ['* | sum(a', 9, `1:10: expected ")", ${end}`],
    ['* | count,', 10, `1:11: expected one of avg, count, count_distinct, max, min, sum, ${end}`],
    ['* | count as', 12, `1:13: expected a field name, ${end}`],
    ['* | sum(a), sum(b)', 12, '1:13: records would have two fields named _sum: rename one with "as"'],
    ['* | count as a by b, A', 21, '1:22: records would have two fields named A: rename one with "as"'],
    ['* | count by', 12, `1:13: expected a field name, ${end}`],
    ['* | count a', 10, '1:11: expected "|" or the end of the query, but found "a"'],
    ['* | count | count', 12, `1:13: ${recordOperators}, but found "count"`],
    ['* | count | json auto', 12, `1:13: ${recordOperators}, but found "json"`],
    ['* | count | sort by _count asc desc', 31, '1:32: expected "|" or the end of the query, but found "desc"'],
    ['* | count by a | sort by b', 25, '1:26: records have no field b; they have a, _count'],
    ['* | count by a | fields - a | where a = 1', 36, '1:37: records have no field a; they have _count'],
  ])('%j', (text, offset, message) => {
    expect(errorOf(text)).toMatchObject({ offset, message });
  });
});

test('a whole number can be too long', () => {
  const message = `1:15: ${number}, but found "${'7'.repeat(20)}…"`;
  expect(errorOf(`* | where a = ${'7'.repeat(1_001)}`)).toMatchObject({ offset: 14, message });
});

describe('errors in regular expressions', () => {
  const at = '* | parse regex "'.length;
  test.each<[string, number, string]>([
    ['(?<a>x)\\1', 7, 'invalid escape sequence: \\1'],
    ['(?<a>x)\\k<a>', 7, 'invalid escape sequence: \\k'],
    ['(?<a>x)(?=y)', 7, 'invalid or unsupported Perl syntax: (?='],
    ['(?<!x)(?<a>y)', 0, 'invalid named capture: (?<!x)(?<a>'],
    ['(?<é>y)', 0, 'invalid named capture: (?<é>'],
    ['(?<a thousand years ago', 0, 'invalid named capture: (?<a thousand years …'],
    ['(?<a>x**)', 6, 'invalid nested repetition operator: **'],
    ['(?<a>x{3,2})', 6, 'invalid repeat count: {3,2}'],
    ['(?<a>x{3,2}y{3,2})', -1, 'invalid repeat count: {3,2}'],
    ['*(?<a>x)', 0, 'missing argument to repetition operator: *'],
    ['(?<a>x))', 0, 'unexpected ): (?<a>x))'],
    ['(?<a>x', 0, 'missing closing ): (?<a>x'],
    ['(?<a>[x)', 5, 'missing closing ]: [x)'],
    ['(?<a>[z-a])', 6, 'invalid character class range: z-a'],
    ['(?<a>\\p{Nothing})', 5, 'invalid character class range: \\p{Nothing}'],
    ['(?<a>x)(?<a>y)', -1, 'duplicate capture group name: a'],
    ['<A>(?<a>x)(?<A>y)', -1, 'there is already a group named A'],
  ])('%s', (pattern, offset, problem) => {
    const error = errorOf(`* | parse regex "${pattern}"`);
    expect(error).toMatchObject({ offset: at + offset, message: `1:${at + offset + 1}: ${problem}` });
  });
});

describe('a query is refused because of too many', () => {
  test.each<[string, string, RegExp]>([
    [
      'nested parentheses in its search',
      `${'('.repeat(4_000)}a`,
      /^1:101: parentheses are nested more than 100 levels deep/,
    ],
    [
      'nested parentheses in a condition',
      `* | where ${'('.repeat(4_000)}`,
      /^1:111: parentheses are nested more than 100 levels deep/,
    ],
    [
      'groups in a regular expression',
      `* | parse regex "${'(x)'.repeat(51)}"`,
      /^1:17: .* too long: it can have at most 50 groups/,
    ],
    [
      'characters in a regular expression',
      `* | parse regex "${'('.repeat(1_001)}"`,
      /^1:17: .* too long: it can have at most 1000 characters/,
    ],
    [
      'repetitions in a regular expression',
      '* | parse regex "(?<a>x{1000}y)"',
      /^1:17: .* too long: it can have at most 1000 steps/,
    ],
    ['characters', 'a '.repeat(5_001), /^1:10001: a query can have at most 10000 characters/],
  ])('%s', (_, text, message) => {
    expect(errorOf(text)?.message).toMatch(message);
  });

  test('nested parentheses, but not because of many words, negations and alternatives', () => {
    expect(errorOf('a '.repeat(5_000))).toBeUndefined();
    expect(errorOf(`${'!'.repeat(9_000)}a`)).toBeUndefined();
    expect(errorOf(`a${' OR a'.repeat(1_900)}`)).toBeUndefined();
    expect(errorOf(`* | parse regex "(?<a>a${'|a'.repeat(300)})${'(x)'.repeat(49)}"`)).toBeUndefined();
  });
});

describe('any text', () => {
  const token = fc.constantFrom(
    ...['*', 'error', 'AND', 'OR', 'NOT', '(', ')', '!', '=', '!=', '<', '>=', '|', ',', '-', '%', '"', '"x y"', '\\'],
    ...['_size', 'a.b', '5', '-1.5e3', '1m', 'where', 'matches', 'and', 'parse regex', '"(?<a>x)"', 'nodrop', 'field'],
    ...['json auto', 'timeslice', 'as', 'fields', 'limit', 'count', 'sum', 'avg', 'by', 'sort', 'desc', '\n', '𝒜'],
    ...['"(?<a>', '[a-', ']', '{2,}', '(?:', '+?', '\\d', '^', '$', '(?i)'],
  );
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.array(token, { maxLength: 25 }).map((tokens) => tokens.join(' ')),
    fc.array(token, { maxLength: 25 }).map((tokens) => `* | ${tokens.join('')}`),
  );

  test('is either a query or a QueryError with a position in the text', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const error = errorOf(text);
        if (!error) return;
        expect(error.offset).toBeGreaterThanOrEqual(0);
        expect(error.offset).toBeLessThanOrEqual(text.length);
        expect(error.message).toMatch(/^\d+:\d+: \S/);
      }),
      { numRuns: 5_000 },
    );
  });
});
