import { describe, expect, test } from 'vitest';
import { parseApproval, parseRolloutRequest } from '../../../src/api/annotations.ts';
import { checkLabels } from '../../../src/api/label-check.ts';

const longestId = `1-${'9'.repeat(62)}`;

describe('an approval contains a rollout and one of its stages', () => {
  test.each([
    ['3-19.500-1/canary', { rolloutId: '3-19.500-1', stage: 'canary' }],
    ['3-19.500-1/canary/2026-11-01T00:00:00Z', { rolloutId: '3-19.500-1', stage: 'canary' }],
    [' 12-19.500-1/a1-b\n', { rolloutId: '12-19.500-1', stage: 'a1-b' }],
    [`${longestId}/${'s'.repeat(63)}`, { rolloutId: longestId, stage: 's'.repeat(63) }],
  ])('%j', (value, expected) => {
    expect(parseApproval(value)).toEqual(expected);
  });

  test.each([
    [undefined],
    [''],
    ['true'],
    ['canary'],
    ['3-19.500-1'],
    ['3-19.500-1/'],
    ['/canary'],
    ['19.500-1/canary'],
    ['0-19.500-1/canary'],
    ['3-/canary'],
    ['3-19.500-1/Canary'],
    [`3-19.500-1/canary/${'m'.repeat(65)}`],
    ['3-19.500-1//canary'],
    ['3-19.500-1/-canary'],
    ['3-19.500-1/canary-'],
    ['3-19 500/canary'],
    [`${longestId}9/canary`],
    [`3-19.500-1/${'s'.repeat(64)}`],
  ])('%j is invalid', (value) => {
    expect(parseApproval(value)).toBeUndefined();
  });
});

describe('a request contains a rollout and an optional suffix', () => {
  test.each([
    ['3-19.500-1', { rolloutId: '3-19.500-1', suffix: '' }],
    ['3-19.500-1/', { rolloutId: '3-19.500-1', suffix: '' }],
    ['3-19.500-1/again', { rolloutId: '3-19.500-1', suffix: 'again' }],
    ['3-19.500-1/2026-11-21T10:00:00.000Z', { rolloutId: '3-19.500-1', suffix: '2026-11-21T10:00:00.000Z' }],
    ['3-19.500-1/a/b', { rolloutId: '3-19.500-1', suffix: 'a/b' }],
    [` ${longestId}/${'m'.repeat(64)} `, { rolloutId: longestId, suffix: 'm'.repeat(64) }],
  ])('%j', (value, expected) => {
    expect(parseRolloutRequest(value)).toEqual(expected);
  });

  test.each([[undefined], [''], ['true'], ['19.500-1'], ['/now'], [`${longestId}9`], [`3-x/${'m'.repeat(65)}`]])(
    '%j is invalid',
    (value) => {
      expect(parseRolloutRequest(value)).toBeUndefined();
    },
  );
});

test.each([
  ['the largest total size', { a: 'x'.repeat(262_143) }, []],
  ['a larger total size', { a: 'x'.repeat(262_144) }, ['OutOfRange']],
  ['a prefix of the maximum length', { [`${'p'.repeat(253)}/name`]: '' }, []],
  ['a longer prefix', { [`${'p'.repeat(254)}/name`]: '' }, ['Invalid']],
])('annotations with %s', (_, annotations, expected) => {
  expect([...checkLabels(['metadata'], { annotations })].map(({ reason }) => reason)).toEqual(expected);
});
