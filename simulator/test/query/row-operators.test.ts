/** Tests query operators on messages. */
import { describe, expect, test } from 'vitest';
import { parseQuery, type QueryOptions } from '../../query/query.ts';
import type { Transform } from '../../query/row.ts';
import { message } from './message.ts';

function transformOf(text: string, options?: QueryOptions): Transform {
  const { transform } = parseQuery(text, options);
  if (!transform) throw new Error(`${text} has no operator on messages`);
  return transform;
}

/** Returns the fields that the query `text` parses from a message, or undefined if the query drops the message. */
function parsed(text: string, fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
  const row = transformOf(text).apply(message(fields));
  return row && Object.fromEntries(row.parsed ?? []);
}

describe('parse regex', () => {
  const raw = { _raw: 'User=Anna took 53 ms', _sourceHost: 'web-17' };
  test.each<[string, Readonly<Record<string, string>> | undefined]>([
    [String.raw`* | parse regex "took (?<ms>\d+)"`, { ms: '53' }],
    [String.raw`* | parse regex "User=(?<user>\w+) took (?<ms>\d+)"`, { user: 'Anna', ms: '53' }],
    [String.raw`* | parse regex "(?i)user=(?<user>\w+)"`, { user: 'Anna' }],
    [String.raw`* | parse regex "user=(?<user>\w+)"`, undefined],
    [String.raw`* | parse regex "user=(?<user>\w+)" nodrop`, {}],
    [String.raw`* | parse regex field=_sourceHost "-(?<number>\d+)$"`, { number: '17' }],
    ['* | parse regex field=_source "(?<x>.+)"', undefined],
    ['* | parse regex "(?<a>Otto)|(?<b>Anna)"', { b: 'Anna' }],
    [String.raw`* | parse regex "(?<t>\w+) ms" | parse regex field=t "^(?<first>.)"`, { t: '53', first: '5' }],
    [String.raw`* | parse regex "(?<x>\d)" | parse regex "(?<X>\w+) ms"`, { X: '53' }],
  ])('%s: %j', (query, fields) => {
    expect(parsed(query, raw)).toEqual(fields);
  });

  test('lists the fields that it reads, needs and adds', () => {
    const text = String.raw`* | parse regex field=_Source "(?<A>\w)" nodrop | parse regex field=a "(?<b>\w)"`;
    const transform = transformOf(text);
    expect(transform.reads).toEqual(new Set(['_source']));
    expect(transform.keepsRows?.reads).toEqual(transform.reads);
    expect(transform.adds).toEqual([
      { name: 'A', fieldType: 'string', keyField: false },
      { name: 'b', fieldType: 'string', keyField: false },
    ]);
    expect(transform.keeps).toBeUndefined();
    expect(transformOf(String.raw`* | parse regex "(?<a>\w)" nodrop`).keepsRows).toBeUndefined();
  });

  test('conditions after it read the parsed fields in any case', () => {
    const query = String.raw`* | parse regex "(?<ms>\d+) ms" | where MS > 50`;
    expect(parsed(query, raw)).toEqual({ ms: '53' });
    expect(parsed(query, { _raw: '49 ms' })).toBeUndefined();
  });

  test('stored fields stay readable', () => {
    const row = transformOf(String.raw`* | parse regex "(?<ms>\d+)"`).apply(message({ ...raw, _messagetime: '7' }));
    expect(row?.messageTimeMs).toBe(7);
    expect(row?.field('_sourcehost')).toBe('web-17');
    expect(row?.field('ms')).toBe('53');
    expect(row?.field('else')).toBeUndefined();
  });
});

describe('json auto', () => {
  const json = (_raw: string) => parsed('* | json auto', { _raw, _source: 's' });
  test.each<[string, Readonly<Record<string, string>>]>([
    ['{"a":1,"b":"x","c":true}', { a: '1', b: 'x', c: 'true' }],
    [' {"a":{"b":[1,{"c":2}]}} ', { 'a.b[0]': '1', 'a.b[1].c': '2' }],
    ['{"id":9223372036854775807,"small":1.5}', { id: '9223372036854775807', small: '1.5' }],
    ['{"id":9007199254740993}', { id: '9007199254740993' }],
    ['{"a":null,"b":[],"c":{},"d":""}', { d: '' }],
    ['{"a":1,"A":2}', { a: '1' }],
    ['{"_raw":"no","_SOURCE":"no","_mine":"yes"}', { _mine: 'yes' }],
    ['[1]', {}],
    ['{"a":', {}],
    ['INFO {"a":1}', {}],
    ['', {}],
    [`{"a":${'['.repeat(100_000)}`, {}],
    [`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, {}],
    [`{"i":1234567890123456,"a":${'['.repeat(50_000)}1${']'.repeat(50_000)}}`.slice(0, 262_144), {}],
  ])('%.60s: %j', (raw, fields) => {
    const found = json(raw);
    if (raw.startsWith('{"i"')) expect(found).not.toHaveProperty('a');
    else expect(found).toEqual(fields);
  });

  test('adds fields from at most 20 levels', () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(json(nested(20))).toEqual({ [Array(20).fill('a').join('.')]: '1' });
    expect(json(nested(21))).toEqual({});
  });

  test('adds at most 200 fields', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`f${index}`, index]));
    expect(Object.keys(json(JSON.stringify(many)) ?? {})).toHaveLength(200);
  });

  test('drops no messages, and adds fields that differ between messages', () => {
    const transform = transformOf('* | json auto');
    expect(transform.keepsRows).toBeUndefined();
    expect(transform.adds).toEqual([]);
    expect(transform.reads).toEqual(new Set(['_raw']));
  });

  test('names that are not words are quoted', () => {
    const query = '* | json auto | where %"a b" = 1 and %"c[0]" = "x"';
    expect(parsed(query, { _raw: '{"a b":1,"c":["x"]}' })).toBeDefined();
    expect(parsed(query, { _raw: '{"a b":2,"c":["x"]}' })).toBeUndefined();
  });
});

describe('fields of JSON with AutoParse (4.1)', () => {
  const autoParsed = (text: string) => parseQuery(text, { jsonFields: true });
  const row = message({ _raw: '{"user":"Anna","status":500}', _source: 's' });

  test('can be searched', () => {
    expect(autoParsed('user=anna').filter.matches(row)).toBe(true);
    expect(autoParsed('status!=500').filter.matches(row)).toBe(false);
    expect(autoParsed('user=anna _source=t').filter.matches(row)).toBe(false);
    expect(parseQuery('user=anna').filter.matches(row)).toBe(false);
    expect(autoParsed('user=anna _source=s').filter.reads).toEqual(new Set(['_source', '_raw']));
    expect(autoParsed('_source=s').filter.reads).toEqual(new Set(['_source']));
  });

  test('can be used by operators', () => {
    const { transform } = autoParsed('* | where status >= 500');
    expect(transform?.apply(row)?.parsed).toEqual(
      new Map([
        ['user', 'Anna'],
        ['status', '500'],
      ]),
    );
    expect(transform?.apply(message({ _raw: '{"status":200}' }))).toBeUndefined();
  });
});

describe('computed fields', () => {
  test.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>]>([
    ['* | _size - _messagecount as rest', { _size: '12', _messagecount: '5' }, { rest: '7' }],
    ['* | _SIZE + _messagecount as all', { _size: '12', _messagecount: '5' }, { all: '17' }],
    ['* | _size - _messagecount as rest', { _size: '1.5', _messagecount: '5' }, { rest: '-3.5' }],
    ['* | _messageid - _size as x', { _messageid: '-9223372036854775808', _size: '1' }, { x: '-9223372036854775809' }],
    ['* | _size - _messagecount as rest', { _size: '12' }, {}],
    ['* | _size - _sourceHost as rest', { _size: '12', _sourceHost: 'web' }, {}],
    ['* | _size + _size as x', { _size: '-0' }, { x: '0' }],
    ['* | _size + _messagecount as x', { _size: '0.1', _messagecount: '0.2' }, { x: '0.30000000000000004' }],
    ['* | _size + _size as x | x - _size as y', { _size: '1e308' }, { x: 'Infinity' }],
    [
      '* | _size + _messagecount as x | x - _source as y',
      { _size: '9007199254740993', _messagecount: '0.5', _source: '1' },
      { x: '9007199254740992', y: '9007199254740991' },
    ],
    ['* | _size + _size as x | _size - _size as X', { _size: '3' }, { X: '0' }],
    ['* | _size + _size as x | _size - _size as x | x + _size as y', { _size: '3' }, { x: '0', y: '3' }],
    ['* | _size + _messagecount as x', { _size: '9007199254740991', _messagecount: '2' }, { x: '9007199254740993' }],
    ['* | _size + _size as x | fields - x', { _size: '3' }, {}],
    ['* | _size + _size as x | where x = "10" and x matches "1*"', { _size: '5' }, { x: '10' }],
    ['* | _size + _size as x | parse regex field=x "^(?<first>.)"', { _size: '5' }, { x: '10', first: '1' }],
  ])('%s of %j: %j', (query, fields, added) => {
    expect(parsed(query, fields)).toEqual(added);
  });

  test('a computed field is a double unless both operands are whole', () => {
    expect(transformOf('* | _size - _source as x').adds).toMatchObject([{ name: 'x', fieldType: 'double' }]);
  });

  test('a difference from the start of a slice is the position within the slice', () => {
    const fields = { _messagetime: '1788000061999' };
    const query = '* | timeslice 1m | _messagetime - _timeslice as offset';
    expect(parsed(query, fields)).toEqual({ _timeslice: '1788000060000', offset: '1999' });
    const transform = transformOf(query);
    expect(transform.reads).toEqual(new Set(['_messagetime']));
    expect(transform.adds.map(({ name, fieldType }) => `${name} ${fieldType}`)).toEqual([
      '_timeslice long',
      'offset long',
    ]);
    expect(parseQuery(`${query} | count by offset`).sliceMs).toBeUndefined();
  });

  test.each([
    ['* | _size -', '1:12: expected a field name, but found the end of the query'],
    ['* | _size - _messagecount', '1:26: expected "as", but found the end of the query'],
    ['* | _size - _messagecount as _raw', '1:30: messages already have a field named _raw: use another name'],
    ['* | _size', '1:5: expected one of'],
  ])('%s: %s', (query, message) => {
    expect(() => parseQuery(query)).toThrow(message);
  });
});

describe('timeslice', () => {
  test.each<[string, string, Readonly<Record<string, string>>]>([
    ['1m', '1788000061999', { _timeslice: '1788000060000' }],
    ['1m', '1788000060000', { _timeslice: '1788000060000' }],
    ['90s', '100000', { _timeslice: '90000' }],
    ['1h30m', '5400001', { _timeslice: '5400000' }],
    ['1d', '86400000', { _timeslice: '86400000' }],
    ['2w', '1209599999', { _timeslice: '0' }],
    ['500ms as half', '1750', { half: '1500' }],
  ])('timeslice %s of %s: %j', (length, _messagetime, fields) => {
    expect(parsed(`* | timeslice ${length}`, { _messagetime })).toEqual(fields);
  });

  test('reads the time and adds a long', () => {
    const transform = transformOf('* | timeslice 1m');
    expect(transform.reads).toEqual(new Set(['_messagetime']));
    expect(transform.adds).toEqual([{ name: '_timeslice', fieldType: 'long', keyField: false }]);
  });
});

describe('fields', () => {
  const row = message({ _messageid: '1', _messagetime: '5', _raw: 'a=1 b=2', _source: 's' });
  const parse = String.raw`* | parse regex "a=(?<a>\d) b=(?<b>\d)"`;
  const names = ['_messageid', '_messagetime', '_raw', '_source', 'a', 'b'];

  test.each<[string, readonly string[]]>([
    [`${parse} | fields A, _Source`, ['_messageid', '_messagetime', '_source', 'a']],
    [`${parse} | fields - a, _raw`, ['_messageid', '_messagetime', '_source', 'b']],
    [`${parse} | fields - _messageid`, ['_messagetime', '_raw', '_source', 'a', 'b']],
    [`${parse} | fields a, b | fields b`, ['_messageid', '_messagetime', 'b']],
    [`* | fields _raw | parse regex "a=(?<a>.)"`, ['_messageid', '_messagetime', '_raw', 'a']],
    [`* | fields - _source | json auto`, ['_messageid', '_messagetime', '_raw', 'a', 'b']],
    [`* | fields _raw | json auto`, ['_messageid', '_messagetime', '_raw', 'a', 'b']],
  ])('%s shows %j', (query, shown) => {
    const { keeps } = transformOf(query);
    expect(names.filter((name) => keeps?.(name) === true)).toEqual(shown);
    expect(names.filter((name) => keeps?.(name.toUpperCase()) === true)).toEqual(shown);
  });

  test('hidden fields cannot be read', () => {
    const kept = transformOf(`${parse} | fields a`).apply(row);
    expect(names.map((name) => kept?.field(name))).toEqual(['1', '5', undefined, undefined, '1', undefined]);
    expect([...(kept?.parsed ?? [])]).toEqual([['a', '1']]);
    expect(transformOf(`${parse} | fields - b | where b = 2`).apply(row)).toBeUndefined();
    expect(transformOf('* | fields _source | parse regex "(?<x>.)"').apply(row)).toBeUndefined();
    expect(transformOf('* | fields _source | fields - a').apply(row)?.field('_raw')).toBeUndefined();
  });

  test('without the operator, all fields are shown', () => {
    expect(transformOf(parse).keeps).toBeUndefined();
  });
});

describe('limit', () => {
  test('is the lowest of several', () => {
    expect(parseQuery('* | limit 20 | limit 5 | limit 10').messageLimit).toBe(5);
    expect(parseQuery('*').messageLimit).toBeUndefined();
  });

  test('can precede operators that drop nothing, and an aggregation', () => {
    const query = parseQuery(
      '* | limit 7 | fields _raw | json auto | parse regex "(?<a>.)" nodrop | timeslice 1m | count',
    );
    expect(query.messageLimit).toBe(7);
    expect(query.transform).toBeDefined();
    expect(query.transform?.keepsRows).toBeUndefined();
    expect(query.aggregate).toBeDefined();
  });
});

describe('fields that decide whether a row is dropped', () => {
  const digit = 'parse regex "(?<digit>[0-9])"';

  test.each<[string, readonly string[]]>([
    [`* | timeslice 1h | ${digit}`, ['_raw']],
    [`* | ${digit} | timeslice 1h`, ['_raw']],
    [`* | timeslice 1h | ${digit} | where digit > 4`, ['_raw']],
    [`* | timeslice 1h | ${digit} | where _timeslice > 0`, ['_messagetime', '_raw']],
    [`* | timeslice 1h as Slice | ${digit} nodrop | where sLICE < 3600000`, ['_messagetime']],
    [`* | timeslice 1h | json auto | where a = 4 or _source = "t"`, ['_raw', '_source', 'a']],
    [`* | fields _raw | where _source = "" | timeslice 1h`, ['_source']],
  ])('%s: %j, and nothing else', (text, reads) => {
    const transform = transformOf(text);
    expect([...(transform.keepsRows?.reads ?? [])].sort()).toEqual(reads);
    for (const _raw of ['5', '3', 'x', '{"a":4}']) {
      for (const [_source, _messagetime] of [
        ['s', '0'],
        ['t', '7200000'],
      ] as const) {
        const row = message({ _raw, _source, _messagetime });
        expect(transform.keepsRows?.matches(row)).toBe(transform.apply(row) !== undefined);
      }
    }
  });
});

describe('fields that a query reads', () => {
  test.each<[string, readonly string[]]>([
    ['* | count', []],
    ['error | count by _sourceHost', ['_raw', '_sourcehost']],
    ['* | timeslice 1m | sum(_size), count by _timeslice', ['_size']],
    ['* | timeslice 1m | max(_messagetime) by _timeslice', ['_messagetime']],
    ['* | parse regex "(?<a>.)" | count by a, b', ['_raw', 'b']],
    ['_source=s | where _size > 1 | json auto', ['_raw', '_size', '_source']],
  ])('%s: %j', (query, names) => {
    expect([...parseQuery(query).reads].sort()).toEqual(names);
  });

  test.each<[string, number | undefined]>([
    ['* | timeslice 1h | count by _timeslice', 3_600_000],
    ['* | json auto | timeslice 90s as slice | where slice > 5 | count by user', 90_000],
    ['* | count', undefined],
    ['* | timeslice 1h | timeslice 1m as minute | count by _timeslice', undefined],
    ['* | timeslice 1h | where _messagetime > 5 | count by _timeslice', undefined],
    ['* | where _messagetime > 5 | timeslice 1h | count by _timeslice', undefined],
    ['* | timeslice 1h | max(_messagetime) by _timeslice', undefined],
    ['* | timeslice 1h | count by _messageTime', undefined],
  ])('%s needs only slices of %s ms of the message time', (text, sliceMs) => {
    const query = parseQuery(text);
    expect(query.sliceMs).toBe(sliceMs);
    expect(query.reads.has('_messagetime')).toBe(text !== '* | count' && sliceMs === undefined);
  });
});
