import { describe, expect, test } from 'vitest';
import { evaluateRules } from '../../../src/api/cel.ts';
import type { StructuralSchema } from '../../../src/base/structural-schema.ts';

const rule = (text: string, extra: object = {}) => ({
  'x-kubernetes-validations': [{ rule: text, remedy: text, ...extra }],
});
const object = (properties: Record<string, StructuralSchema>, extra: object = {}): StructuralSchema => ({
  type: 'object',
  properties,
  ...extra,
});

describe('rules', () => {
  test('get integers as integers, and other values unchanged', () => {
    const schema = object(
      { count: { type: 'integer' }, share: { 'x-kubernetes-int-or-string': true }, ratio: { type: 'number' } },
      rule('self.count == 3 && type(self.share) == int && self.ratio == 1.5'),
    );
    expect(evaluateRules(schema, { count: 3, share: 4, ratio: 1.5 })).toEqual([]);
    expect(evaluateRules(schema, { count: 3, share: '4%', ratio: 1.5 })).toHaveLength(1);
  });

  test('compare byte quantities, and reject invalid ones', () => {
    const schema: StructuralSchema = { type: 'string', ...rule('quantity(self).compareTo(quantity("1Mi")) >= 0') };
    const refused = ['1Mi', '1.5M', '1048576', '1023.999Ki', '0', '1MB'].map(
      (text) => evaluateRules(schema, text).length,
    );
    expect(refused).toEqual([0, 0, 0, 1, 1, 1]);
  });

  test('are evaluated for every item and every member of a map', () => {
    const text: StructuralSchema = { type: 'string', ...rule('self != "bad"') };
    const schema = object({
      list: { type: 'array', items: text },
      map: { type: 'object', additionalProperties: text },
    });
    const value = { list: ['good', 'bad'], map: { a: 'bad', b: 'good' } };
    expect(evaluateRules(schema, value).map(({ path }) => path)).toEqual([
      ['list', 1],
      ['map', 'a'],
    ]);
  });

  test('report the member of fieldPath', () => {
    const schema = object({ inner: object({ end: { type: 'integer' } }, rule('self.end > 0', { fieldPath: '.end' })) });
    expect(evaluateRules(schema, { inner: { end: 0 } })[0]?.path).toEqual(['inner', 'end']);
  });

  test('that end with an error count as violated', () => {
    const schema: StructuralSchema = { type: 'string', ...rule('duration(self) > duration("1s")') };
    expect(evaluateRules(schema, 'soon')).toHaveLength(1);
    expect(evaluateRules(schema, '2s')).toEqual([]);
  });

  test('are not evaluated without a value, nor for an invalid one', () => {
    const schema = object({ text: { type: 'string', ...rule('false') } });
    expect(evaluateRules(schema, {})).toEqual([]);
    expect(evaluateRules(schema, { text: 'x' })).toHaveLength(1);
    expect(evaluateRules(schema, { text: 'x' }, undefined, (path) => path[0] === 'text')).toEqual([]);
  });
});

describe('rules about a change', () => {
  const schema = object({ query: { type: 'string', ...rule('self == oldSelf') } });

  test('are skipped when a resource is created', () => {
    expect(evaluateRules(schema, { query: 'new' })).toEqual([]);
  });

  test('are skipped if there was no value before', () => {
    expect(evaluateRules(schema, { query: 'new' }, {})).toEqual([]);
  });

  test('apply to a change', () => {
    expect(evaluateRules(schema, { query: 'same' }, { query: 'same' })).toEqual([]);
    expect(evaluateRules(schema, { query: 'new' }, { query: 'old' }).map(({ path }) => path)).toEqual([['query']]);
  });
});
