/** Tests the regular expressions in `parse regex`. */
import { describe, expect, test } from 'vitest';
import { parseQuery } from '../../query/query.ts';
import { message } from './message.ts';

/** Returns the captured texts by group name, or undefined if the pattern does not match. */
function captures(pattern: string, text: string): Readonly<Record<string, string>> | undefined {
  const { transform } = parseQuery(`* | parse regex "${pattern}"`);
  const row = transform?.apply(message({ _raw: text }));
  return row && Object.fromEntries(row.parsed ?? []);
}

describe('captures', () => {
  test.each<[string, string, Readonly<Record<string, string>> | undefined]>([
    ['(?<a>\\\\\\")', String.raw`say \"`, { a: String.raw`\"` }],
    ['say \\"(?<a>[^\\"]*)\\"', 'say "no" twice', { a: 'no' }],
    ['(?<a>[|\\]-])', 'x]', { a: ']' }],
    ['(?i)(?<a>ÄB[c-d])', 'x äbD', { a: 'äbD' }],
    ['(?P<a>x)|(?P<b>y)', 'y', { b: 'y' }],
    ['(b)(?<z>c)(d)(?<a>e)(?<1>f)', 'bcdef', { z: 'c', a: 'e', 1: 'f' }],
    ['(?<a>a|ab)(?<b>c|bcd)(?<d>d*)', 'abcd', { a: 'a', b: 'bcd', d: '' }],
    ['(?<a>(x*)*)y', 'xxy', { a: 'xx' }],
    ['^(?<a>b)', 'ab', undefined],
    ['(?<a>.)$', 'a\n', undefined],
    ['(?s)(?<a>.)$', 'a\n', { a: '\n' }],
    ['(?<a>.)b', '𝒜b', { a: '𝒜' }],
    ['(?<a>[\\x{1D49C}\\p{Greek}])', 'é𝒜', { a: '𝒜' }],
    ['(?<a>.)b', '\ud800b', { a: '\ud800' }],
    ['(?<__proto__>.)', 'x', { ['__proto__']: 'x' }],
  ])('of %s in %j: %j', (written, text, expected) => {
    expect(captures(written, text)).toEqual(expected);
  });
});

describe('every expression ends in time', () => {
  const large = 'a'.repeat(262_144);
  test.each<[string, string]>([
    ['(?<a>.*).*.*x$', large],
    ['(?<a>(?:a+)+)$', `${large}!`],
    ['^(?<a>(?:a|aa)+)$', `${large}!`],
    [`(?<a>${'a?'.repeat(30)}${'a'.repeat(30)})!$`, `${large}!b`],
    [`(?<a>${'(a*)'.repeat(48)}b)`, `${large}c`],
  ])('%.40s', (written, text) => {
    expect(captures(written, text)).toBeUndefined();
  });

  test('only the start of a long value is searched', () => {
    expect(captures('status=(?<status>\\d+)', `${' '.repeat(262_100)}status=500`)).toEqual({ status: '500' });
    const seen = captures('^(?<seen>x{900}.*)$', large.replaceAll('a', 'x'))?.['seen']?.length;
    expect(seen).toBeGreaterThan(5_000);
    expect(seen).toBeLessThan(5_600);
  });

  test.each(['', 'x'])('the searched part has whole characters, after %j', (before) => {
    const seen = captures('^(?<seen>(?:.?𝒜){300}.*)$', before + '𝒜'.repeat(131_072))?.['seen'];
    expect(seen?.length).toBeLessThan(262_144);
    expect(seen?.isWellFormed()).toBe(true);
  });
});
