/** Tests the part of a query before the first `|`. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseQuery } from '../../query/query.ts';
import { message } from './message.ts';

const finds = (query: string, fields: Readonly<Record<string, string>>) =>
  parseQuery(query).filter.matches(message(fields));
const findsIn = (query: string, _raw: string) => finds(query, { _raw });

describe('words and phrases in _raw', () => {
  test.each<[string, string, boolean]>([
    ['*', 'anything', true],
    ['*', '', true],
    ['**', 'anything', true],
    ['error', 'an error here', true],
    ['error', 'ERROR', true],
    ['ERROR', 'error', true],
    ['error', '[error]', true],
    ['error', 'x=error;', true],
    ['error', 'errors', false],
    ['error', 'terror', false],
    ['error', 'error_2', false],
    ['error', 'errors and then error', true],
    ['error', '', false],
    ['err*', 'errors', true],
    ['err*', 'terrors', false],
    ['err*', 'err', true],
    ['*tion', 'connection lost', true],
    ['*tion', 'connections lost', false],
    ['*nect*', 'disconnected', true],
    ['10.0.0.1', 'from 10.0.0.1:80', true],
    ['10.0.0.1', 'from 10.0.0.12', false],
    ['10.0.0.1', 'from 110.0.0.1', false],
    ['10.0.0.1', 'from 10x0x0x1', false],
    ['10.*.7', 'from 10.0.0.7', true],
    ['10.*.7', 'from 10.0.0.70', false],
    ['10.*.7', 'from 10.0.0.70.7', true],
    ['10.*.7', 'from 10. to .7', false],
    ['a*b', 'a or b', false],
    ['a*b', 'ab', true],
    ['a*b', 'a-1 a-c a-b', true],
    ['a*b*c', 'a-b b-c a-c a.c.b', false],
    ['a*b*c', 'a-b b-c a-c b.a.b.c', true],
    ['-flag', '--flag', true],
    ['-flag', 'x-flag', true],
    ['-flag', '-flags', false],
    ['"user="', 'superuser=1', false],
    ['"user="', 'user=1', true],
    ['"timed out"', 'it timed out.', true],
    ['"timed out"', 'it timed  out', false],
    ['"timed out"', 'it timed outside', false],
    ['"TIMED out"', 'timed OUT', true],
    ['"a*b"', 'a*b', true],
    ['"a*b"', 'axb', false],
    [String.raw`a\*b`, 'a*b', true],
    [String.raw`a\*b`, 'axb', false],
    [String.raw`"say \"no\""`, 'they say "no" again', true],
    [String.raw`"C:\temp\\x"`, String.raw`in C:\temp\x`, true],
    ['"(a|b)"', 'one of (a|b)', true],
    ['größe', 'GRÖSSE GRÖẞE Größe', true],
    ['gr', 'größe', false],
    ['fu', 'fuß', false],
    ['日志', 'in 日志 written', true],
    ['日', 'in 日志 written', false],
    ['𝒜', 'math 𝒜𝒜', false],
    ['𝒜', 'math 𝒜', true],
    ['"..."', 'and so on...', true],
    ['"AND"', 'this and that', true],
    ['"AND"', 'this or that', false],
  ])('%s in %j: %s', (query, raw, found) => {
    expect(findsIn(query, raw)).toBe(found);
  });

  test('a message without _raw has no words', () => {
    expect(finds('error', {})).toBe(false);
    expect(finds('NOT error', {})).toBe(true);
    expect(finds('*', {})).toBe(true);
  });

  test('words agree with an equivalent regular expression', () => {
    const pieces = fc.constantFrom('a', 'B', 'b', '_', '1', '.', '-', 'é', '𝒜', '*');
    const text = fc.array(fc.constantFrom('a', 'A', 'b', '_', '1', '.', '-', 'É', '𝒜', ' ', '\n'), { maxLength: 30 });
    const word = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
    const part = String.raw`[\p{L}\p{M}\p{N}_]`;
    fc.assert(
      fc.property(word, text, (written, characters) => {
        const source = written.replaceAll('.', '\\.').replaceAll(/\*+/g, '\\S*');
        const before = new RegExp(`^${part}`, 'u').test(written) ? `(?<!${part})` : '';
        const behind = new RegExp(`${part}$`, 'u').test(written) ? `(?!${part})` : '';
        const oracle = new RegExp(before + source + behind, 'iu');
        const raw = characters.join('');
        expect(findsIn(written, raw)).toBe(oracle.test(raw));
      }),
      { numRuns: 500 },
    );
  });

  test('any words can be found in a message of 256 KB', () => {
    const raw = `${'ab '.repeat(43_000)}${'ab'.repeat(64_000)} axxb`;
    expect(findsIn('a*xx*b', raw)).toBe(true);
    expect(findsIn('a*b*xxx', raw)).toBe(false);
    expect(findsIn('ab*ab*ab*c', raw)).toBe(false);
    expect(finds('_raw=*a*b*ba*c*', { _raw: raw })).toBe(false);
  });
});

describe('fields', () => {
  const nginx = { _sourceCategory: 'prod/web/nginx', _sourceHost: 'Web-1', _collector: 'two words', _size: '' };
  test.each<[string, boolean]>([
    ['_sourceCategory=prod/*', true],
    ['_sourceCategory=prod', false],
    ['_SOURCECATEGORY=PROD/*/NGINX', true],
    ['_sourceCategory=*nginx', true],
    ['_sourceCategory=*web*', true],
    ['_sourceCategory=*db*', false],
    ['_sourceCategory=prod/web*web/nginx', false],
    ['_sourceCategory=prod/web/nginx', true],
    ['_sourceCategory=prod.web.nginx', false],
    ['_sourceCategory != prod/*', false],
    ['_sourceCategory!=test/*', true],
    ['_sourceHost = web-1', true],
    ['_sourceHost=web-1 _collector=two', false],
    ['_collector="two words"', true],
    ['_collector="TWO*"', true],
    [String.raw`_collector="two\*"`, false],
    ['_size=*', true],
    ['_size=""', true],
    ['_source=*', false],
    ['_source!=*', true],
    ['_source!=x', true],
    ['_source=""', false],
    ['NOT _source=x', true],
    ['unheard-of=x', false],
  ])('%s: %s', (query, found) => {
    expect(finds(query, nginx)).toBe(found);
  });

  test('values agree with an equivalent regular expression', () => {
    const written = fc
      .array(fc.constantFrom('a', 'b', 'B', '/', '.', 'é', '*'), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join(''));
    const values = fc.array(fc.constantFrom('a', 'A', 'b', '/', '.', 'É', '\n'), { maxLength: 10 });
    fc.assert(
      fc.property(written, values, (pattern, characters) => {
        const value = characters.join('');
        const oracle = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^]*')}$`, 'iu');
        expect(finds(`_source=${pattern}`, { _source: value })).toBe(oracle.test(value));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('and, or, not and parentheses', () => {
  test.each<[string, string, boolean]>([
    ['a b', 'a b', true],
    ['a b', 'a', false],
    ['a AND b', 'a', false],
    ['a and b', 'b a', true],
    ['a OR b', 'b', true],
    ['a or b', 'c', false],
    ['a OR b c', 'a', true],
    ['a OR b c', 'b', false],
    ['(a OR b) c', 'a', false],
    ['(a OR b) c', 'b c', true],
    ['(a OR b)(c OR d)', 'b c', true],
    ['a NOT b', 'a', true],
    ['a NOT b', 'a b', false],
    ['NOT a OR b', 'b a', true],
    ['NOT (a OR b)', 'b', false],
    ['NOT NOT a', 'a', true],
    ['!a', 'b', true],
    ['a !b', 'a b', false],
    ['a !(b OR c)', 'a d', true],
    ['NOT *', 'a', false],
    ['a OR NOT *', 'a', true],
    ['* a', 'b', false],
    ['* OR a', 'b', true],
    ['a"b"(c)', 'c b a', true],
    ['order android nothing', 'android order nothing', true],
  ])('%s in %j: %s', (query, raw, found) => {
    expect(findsIn(query, raw)).toBe(found);
  });
});

describe('the read fields', () => {
  test('include the long text of a message only if other fields are not sufficient', () => {
    const asked: string[] = [];
    const row = { messageTimeMs: 0, receiptTimeMs: 0, field: (name: string) => void asked.push(name) };
    expect(parseQuery('error (timeout OR _source=b) _source=a').filter.matches(row)).toBe(false);
    expect(asked).toEqual(['_source']);
  });

  test.each<[string, readonly string[]]>([
    ['*', []],
    ['* OR error', []],
    ['error', ['_raw']],
    ['_sourceHost=a OR _SourceHost=b', ['_sourcehost']],
    ['error _sourceCategory=prod/*', ['_raw', '_sourcecategory']],
    ['* | where _Size > 5 | where _source = _sourceName', ['_size', '_source', '_sourcename']],
  ])('%s: %j', (query, names) => {
    expect([...parseQuery(query).filter.reads].sort()).toEqual(names);
  });
});
