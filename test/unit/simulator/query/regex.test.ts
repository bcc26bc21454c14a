/** Regular expressions of `parse regex`: what they capture is what JavaScript captures, and none of them hangs. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseQuery } from '../../../../src/simulator/query/query.ts';
import { message } from './message.ts';

/** What is captured, by name; undefined where nothing matches. */
function captures(pattern: string, text: string): Readonly<Record<string, string>> | undefined {
  const { transform } = parseQuery(`* | parse regex "${pattern}"`);
  const row = transform?.apply(message({ _raw: text }));
  return row && Object.fromEntries(row.parsed ?? []);
}

/** The same by JavaScript's own engine, tried at each character: left to itself, V8 finds `\B` in the middle of a surrogate pair. */
function javascriptCaptures(pattern: string, text: string): Readonly<Record<string, string>> | undefined {
  const sticky = new RegExp(pattern, 'uy');
  for (let at = 0; at <= text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    sticky.lastIndex = at;
    const groups = sticky.exec(text)?.groups;
    if (groups) return Object.fromEntries(Object.entries(groups).filter(([, value]) => value !== undefined));
  }
  return undefined;
}

const texts = fc.array(fc.constantFrom('a', 'b', 'c', ' ', '1', 'é', '𝒜', '\n'), { maxLength: 14 });

/** Patterns that repeat nothing that may be empty; groups are numbered afterwards. */
const { pattern } = fc.letrec<{ pattern: string; solid: string }>((tie) => ({
  solid: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\s', '\\d', '[\\w\\s]', '\\p{L}', '𝒜', '\\x61'),
    fc.tuple(tie('solid'), tie('pattern')).map(([solid, other]) => `(?:${solid}${other})`),
    fc.tuple(tie('solid'), tie('solid')).map(([one, other]) => `(${one}|${other})`),
    tie('solid').map((solid) => `(?<#>${solid})`),
    fc
      .tuple(tie('solid'), fc.constantFrom('+', '+?', '{2}', '{1,3}?', '{2,}'))
      .map(([solid, times]) => `(?:${solid})${times}`),
  ),
  pattern: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('solid'),
    fc.constantFrom('', '^', '$', '\\b', '\\B'),
    fc
      .tuple(tie('solid'), fc.constantFrom('*', '*?', '?', '??', '{0,2}'))
      .map(([solid, times]) => `(?:${solid})${times}`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(?:${one}|${other})`),
    fc.array(tie('pattern'), { maxLength: 3 }).map((parts) => parts.join('')),
    tie('pattern').map((inner) => `(?<#>${inner})`),
  ),
}));

describe('captures', () => {
  test('are those of JavaScript', () => {
    let matched = 0;
    fc.assert(
      fc.property(pattern, texts, (written, characters) => {
        let count = 0;
        const named = `(?<all>${written.replaceAll('<#>', () => `<g${count++}>`)})`;
        const text = characters.join('');
        const expected = javascriptCaptures(named, text);
        if (expected && Object.keys(expected).length > 1) matched++;
        expect(captures(named, text)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
    expect(matched).toBeGreaterThan(100);
  });

  test.each<[string, string, Readonly<Record<string, string>> | undefined]>([
    ['(?<a>\\\\\\")', String.raw`say \"`, { a: String.raw`\"` }],
    ['say \\"(?<a>[^\\"]*)\\"', 'say "no" twice', { a: 'no' }],
    ['(?<a>[|\\]-])', 'x]', { a: ']' }],
    ['(?i)(?<a>ÄB[c-d])', 'x äbD', { a: 'äbD' }],
    ['(?:(?<a>x)|(?<b>y))*z', 'xyz', { b: 'y' }],
    ['(?<a>a|ab)(?<b>c|bcd)(?<d>d*)', 'abcd', { a: 'a', b: 'bcd', d: '' }],
    ['^(?<a>b)', 'ab', undefined],
    ['(?<a>.)$', 'a\n', undefined],
    ['(?<a>[\\uD800-\\uDFFF])', '𝒜', undefined],
    ['(?<a>\\u{1D49C}|\\u00e9)', 'é', { a: 'é' }],
  ])('of %s in %j: %j', (written, text, expected) => {
    expect(captures(written, text)).toEqual(expected);
  });
});

describe('no expression hangs', () => {
  test.each<[string, string]>([
    ['(?<a>(?:a+)+)$', `${'a'.repeat(40_000)}!`],
    ['^(?<a>(?:a|aa)+)$', `${'a'.repeat(40_000)}!`],
    ['(?<a>.*).*.*.*.*.*x', 'a'.repeat(40_000)],
    [`(?<a>${'a?'.repeat(30)}${'a'.repeat(30)})$`, `${'a'.repeat(20_000)}b`],
    ['(?<a>(?:[\\w]+\\.?)+@)', 'ab.'.repeat(15_000)],
  ])('%.40s', (written, text) => {
    expect(captures(written, text)).toBeUndefined();
  });

  test('and a message of 256 KB is parsed to its end', () => {
    expect(
      captures('status=(?<status>\\d+).*?(?<last>\\w+)$', `${'ab status '.repeat(26_000)} status=500 end`),
    ).toEqual({
      status: '500',
      last: 'end',
    });
  });
});
