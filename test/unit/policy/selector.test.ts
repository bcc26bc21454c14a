/** Tests the selectors by which policies select collectors. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CollectorExpression, CollectorSelector } from '../../../src/api/generated/collector-version-policy.ts';
import { compileSelection, matchesGlob } from '../../../src/policy/members/selector.ts';
import type { Collector } from '../../../src/service/collectors/upgrade-service.ts';
import { collector } from './builders.ts';

const web = collector('1', {
  name: 'web-1',
  osName: 'Linux',
  collectorVersion: '19.253-26',
  ephemeral: false,
  alive: true,
  timeZone: '',
});
const bare = collector('2', { name: 'bare', collectorVersion: undefined, alive: undefined });

const matches = (selector: CollectorSelector, one: Collector = web, exclude?: readonly CollectorSelector[]) =>
  compileSelection(selector, exclude)(one);

describe('fields of a selector are combined with AND', () => {
  test.each<[string, CollectorSelector, boolean]>([
    ['{} matches every collector', {}, true],
    ['an empty list of names has no effect', { matchNames: [] }, true],
    ['a name', { matchNames: ['web-1'] }, true],
    ['one of several globs', { matchNames: ['db-*', 'web-*'] }, true],
    ['none of several globs', { matchNames: ['db-*', 'app-*'] }, false],
    ['names differ by case', { matchNames: ['WEB-*'] }, false],
    ['a field', { matchFields: { osName: 'Linux' } }, true],
    ['a field differs by case', { matchFields: { osName: 'linux' } }, false],
    ['a boolean field, as text', { matchFields: { alive: 'true', ephemeral: 'false' } }, true],
    ['one of two fields only', { matchFields: { osName: 'Linux', osArch: 'amd64' } }, false],
    ['an empty field is absent', { matchFields: { timeZone: '' } }, false],
    ['name and field', { matchNames: ['web-*'], matchFields: { osName: 'Linux' } }, true],
    ['name but not field', { matchNames: ['web-*'], matchFields: { osName: 'Windows' } }, false],
    ['field but not name', { matchNames: ['db-*'], matchFields: { osName: 'Linux' } }, false],
    [
      'all but one expression',
      {
        matchNames: ['web-*'],
        matchFields: { osName: 'Linux' },
        matchExpressions: [{ key: 'osArch', operator: 'Exists' }],
      },
      false,
    ],
  ])('%s', (_, selector, holds) => {
    expect(matches(selector)).toBe(holds);
  });
});

describe('expressions', () => {
  const on = (key: CollectorExpression['key'], operator: CollectorExpression['operator'], values?: string[]) =>
    ({ matchExpressions: [values === undefined ? { key, operator } : { key, operator, values }] }) as CollectorSelector;

  test.each<[string, CollectorSelector, boolean, boolean]>([
    ['In', on('osName', 'In', ['Linux', 'Darwin']), true, false],
    ['In, another value', on('osName', 'In', ['Windows']), false, false],
    ['NotIn', on('osName', 'NotIn', ['Linux']), false, true],
    ['NotIn, another value', on('osName', 'NotIn', ['Windows']), true, true],
    ['Exists', on('osName', 'Exists'), true, false],
    ['DoesNotExist', on('osName', 'DoesNotExist'), false, true],
    ['Exists of an empty field', on('timeZone', 'Exists'), false, false],
    ['Exists of false', on('ephemeral', 'Exists'), true, false],
    ['In of a boolean', on('alive', 'In', ['true']), true, false],
    ['Lt above', on('collectorVersion', 'Lt', ['19.253-27']), true, false],
    ['Lt at', on('collectorVersion', 'Lt', ['19.253-26']), false, false],
    ['Lte at', on('collectorVersion', 'Lte', ['19.253-26']), true, false],
    ['Lte below', on('collectorVersion', 'Lte', ['19.253-25']), false, false],
    ['Gt below', on('collectorVersion', 'Gt', ['19.253-25']), true, false],
    ['Gt at', on('collectorVersion', 'Gt', ['19.253-26']), false, false],
    ['Gte at', on('collectorVersion', 'Gte', ['19.253-26']), true, false],
    ['Gte above', on('collectorVersion', 'Gte', ['19.253-27']), false, false],
    ['versions order as numbers', on('collectorVersion', 'Gt', ['19.99-999']), true, false],
    ['an invalid version as bound', on('collectorVersion', 'Gt', ['latest']), false, false],
    ['no bound', on('collectorVersion', 'Lt'), false, false],
  ])('%s', (_, selector, present, absent) => {
    expect(matches(selector)).toBe(present);
    expect(matches(selector, bare)).toBe(absent);
  });

  test('a version that cannot be parsed is neither older nor newer', () => {
    const odd = collector('3', { collectorVersion: 'nightly' });
    for (const operator of ['Lt', 'Lte', 'Gt', 'Gte'] as const) {
      expect(matches(on('collectorVersion', operator, ['19.1-1']), odd)).toBe(false);
    }
  });

  test('all expressions must hold', () => {
    const both = (version: string): CollectorSelector => ({
      matchExpressions: [
        { key: 'osName', operator: 'Exists' },
        { key: 'collectorVersion', operator: 'Lt', values: [version] },
      ],
    });
    expect(matches(both('20.1-1'))).toBe(true);
    expect(matches(both('18.1-1'))).toBe(false);
  });
});

describe('exclusions', () => {
  test.each<[string, readonly CollectorSelector[] | undefined, boolean]>([
    ['none', undefined, true],
    ['an empty list', [], true],
    ['a matching selector', [{ matchNames: ['web-*'] }], false],
    ['a selector that does not match', [{ matchNames: ['db-*'] }], true],
    ['one of several matching selectors', [{ matchNames: ['db-*'] }, { matchFields: { osName: 'Linux' } }], false],
    ['a selector that matches in part', [{ matchNames: ['web-*'], matchFields: { osName: 'Windows' } }], true],
  ])('%s', (_, exclude, holds) => {
    expect(matches({}, web, exclude)).toBe(holds);
  });

  test('do not select collectors that the selector does not match', () => {
    expect(matches({ matchNames: ['db-*'] }, web, [{ matchNames: ['app-*'] }])).toBe(false);
  });
});

describe('globs', () => {
  test.each([
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['**', 'a', true],
    ['?', '', false],
    ['?', 'a', true],
    ['?', 'ab', false],
    ['a?c', 'abc', true],
    ['a*c', 'ac', true],
    ['a*c', 'abbbc', true],
    ['a*c', 'abbb', false],
    ['*-legacy', 'web-legacy', true],
    ['*-legacy', 'web-legacy-2', false],
    ['*ab*ab', 'abxabxab', true],
    ['*a*b*c*', 'xaybzc', true],
    ['a.c', 'abc', false],
    ['[ab]', 'a', false],
    ['(a+)+', '(a+)+', true],
    ['a*?', 'a', false],
    ['a?*', 'ab', true],
    ['?', '😀', true],
    ['??', '😀', false],
    ['*??', '😀', false],
    ['w?b-😀', 'wéb-😀', true],
  ])('%s against %s: %s', (pattern, text, holds) => {
    expect(matchesGlob(pattern, text)).toBe(holds);
  });

  test('no pattern takes long', () => {
    const pattern = `${'*a'.repeat(100)}*b`;
    expect(matchesGlob(pattern, 'a'.repeat(256))).toBe(false);
  });

  test('equal a simple definition of globs', () => {
    const plain = ([sign, ...pattern]: readonly string[], [letter, ...text]: readonly string[]): boolean => {
      if (sign === undefined) return letter === undefined;
      if (sign !== '*') return (sign === '?' ? letter !== undefined : letter === sign) && plain(pattern, text);
      return (
        plain(pattern, letter === undefined ? [] : [letter, ...text]) ||
        (letter !== undefined && plain([sign, ...pattern], text))
      );
    };
    const word = (letters: string, maxLength: number) => fc.array(fc.constantFrom(...letters), { maxLength });
    fc.assert(
      fc.property(word('ab😀*?', 7), word('ab😀', 8), (pattern, text) => {
        expect(matchesGlob(pattern.join(''), text.join(''))).toBe(plain(pattern, text));
      }),
      { numRuns: 2_000 },
    );
  });
});
