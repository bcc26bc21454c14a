/** Tests aggregations. Their records must not depend on the order of the messages, or on how they are batched. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Aggregation, RecordTable } from '../../query/aggregation.ts';
import { AggregationMemory } from '../../query/aggregation-memory.ts';
import { parseQuery } from '../../query/query.ts';
import { message } from './message.ts';

type RecordFields = Readonly<Record<string, string>>;

function aggregationOf(text: string): Aggregation {
  const aggregation = parseQuery(text).aggregate?.();
  if (!aggregation) throw new Error(`${text} is no aggregation`);
  return aggregation;
}

function tableOf(text: string, messages: readonly RecordFields[]): RecordTable {
  const { filter, transform } = parseQuery(text);
  const aggregation = aggregationOf(text);
  for (const fields of messages) {
    const row = message(fields);
    const kept = filter.matches(row) ? (transform ? transform.apply(row) : row) : undefined;
    if (kept) aggregation.add(kept);
  }
  expect(aggregation.recordCount).toBe(aggregation.table().records.length);
  return aggregation.table();
}

const messages: readonly RecordFields[] = [
  { _sourceHost: 'web-1', _size: '10', _raw: 'status=200', _messagetime: '60000' },
  { _sourceHost: 'web-2', _size: '20', _raw: 'status=500', _messagetime: '119999' },
  { _sourceHost: 'web-1', _size: '1.5', _raw: 'status=500', _messagetime: '120000' },
  { _sourceHost: 'WEB-1', _size: 'none', _raw: 'status=404', _messagetime: '120001' },
  { _size: '-7', _raw: 'no status', _messagetime: '0' },
];

const parse = String.raw`* | parse regex "status=(?<status>\d+)" nodrop`;

test('records are counted again after more messages', () => {
  const aggregation = aggregationOf('* | count by _sourceHost');
  const counts = ['web-1', 'web-2', 'web-1'].map((_sourceHost) => {
    aggregation.add(message({ _sourceHost }));
    return aggregation.recordCount;
  });
  expect(counts).toEqual([1, 2, 2]);
});

describe('records', () => {
  test.each<[string, readonly (readonly string[])[]]>([
    ['* | count', [['5']]],
    ['* | count(_sourceHost)', [['4']]],
    ['* | count(*) as n', [['5']]],
    ['status | count', [['5']]],
    ['"status=500" | count', [['2']]],
    ['nobody | count', []],
    ['nobody | count by _sourceHost', []],
    ['* | sum(_size)', [['24.5']]],
    ['* | avg(_size)', [['6.125']]],
    ['* | min(_size), max(_size)', [['-7', '20']]],
    ['* | count_distinct(_sourceHost)', [['3']]],
    ['"no status" | sum(status), avg(status), min(status), max(status), count(status)', [['', '', '', '', '0']]],
    [
      '* | count by _sourceHost',
      [
        ['', '1'],
        ['WEB-1', '1'],
        ['web-1', '2'],
        ['web-2', '1'],
      ],
    ],
    [
      `${parse} | count by status`,
      [
        ['', '1'],
        ['200', '1'],
        ['404', '1'],
        ['500', '2'],
      ],
    ],
    [
      `${parse} | where status != "" | count, sum(_size) as bytes by _sourceHost, status | where bytes != ""`,
      [
        ['web-1', '200', '1', '10'],
        ['web-1', '500', '1', '1.5'],
        ['web-2', '500', '1', '20'],
      ],
    ],
    [
      '* | timeslice 1m | count by _timeslice',
      [
        ['0', '1'],
        ['60000', '2'],
        ['120000', '2'],
      ],
    ],
    ['* | fields _source | count by _sourceHost', [['', '5']]],
    [
      '* | count by _sourceHost | sort by _count, _sourceHost asc | limit 2',
      [
        ['web-1', '2'],
        ['', '1'],
      ],
    ],
    ['* | max(_size) by _sourceHost | sort _max asc | fields _max', [[''], ['-7'], ['10'], ['20']]],
    ['* | count by _sourceHost | limit 1 | sort by _sourceHost desc', [['', '1']]],
    ['* | count by _sourceHost | where _COUNT > 1 | fields - _count', [['web-1']]],
    [
      '* | count by _sourceHost | where _sourceHost matches "web*" | limit 9 | fields _count, _count',
      [['1'], ['2'], ['1']],
    ],
    [
      '* | count by _sourceHost | sort by _sourceHost desc | limit 3 | limit 2 | fields _sourceHost',
      [['web-2'], ['web-1']],
    ],
  ])('%s: %j', (text, records) => {
    expect(tableOf(text, messages).records).toEqual(records);
  });

  test('have a schema with grouping fields first and names as in the query', () => {
    const text = `${parse} | timeslice 1m | count, count_distinct(status), sum(_size) as S, max(status), avg(_size) by _SourceHost, Status, _timeslice`;
    expect(aggregationOf(text).table()).toEqual({
      fields: [
        { name: '_SourceHost', fieldType: 'string', keyField: true },
        { name: 'Status', fieldType: 'string', keyField: true },
        { name: '_timeslice', fieldType: 'long', keyField: true },
        { name: '_count', fieldType: 'int', keyField: false },
        { name: '_count_distinct', fieldType: 'int', keyField: false },
        { name: 'S', fieldType: 'long', keyField: false },
        { name: '_max', fieldType: 'double', keyField: false },
        { name: '_avg', fieldType: 'double', keyField: false },
      ],
      records: [],
    });
    expect(aggregationOf('* | count by _source | fields _count, _source').table().fields).toEqual([
      { name: '_count', fieldType: 'int', keyField: false },
      { name: '_source', fieldType: 'string', keyField: true },
    ]);
    expect(aggregationOf('* | sum(_messagecount)').table().fields).toEqual([
      { name: '_sum', fieldType: 'long', keyField: false },
    ]);
  });

  test('can be read before the end, separately for each aggregation', () => {
    const query = parseQuery('* | count by _sourceHost | limit 2');
    const [one, other] = [query.aggregate?.(), query.aggregate?.()];
    one?.add(message({ _sourceHost: 'b' }));
    expect(one?.table().records).toEqual([['b', '1']]);
    one?.add(message({ _sourceHost: 'a' }), 3);
    one?.add(message({ _sourceHost: 'b' }), 2);
    one?.add(message({ _sourceHost: 'c' }));
    expect(one?.table().records).toEqual([
      ['a', '3'],
      ['b', '3'],
    ]);
    expect([one?.recordCount, other?.recordCount]).toEqual([2, 0]);
  });

  test('treat a computed number and parsed text with the same digits as the same value', () => {
    const fields = [{ _raw: '{}', _size: '2', _messagecount: '3' }, { _raw: '{"x":"5"}' }];
    const text = '* | json auto | _size + _messagecount as x | count, count_distinct(x), sum(x), max(x)';
    expect(tableOf(text, fields).records).toEqual([['2', '1', '10', '5']]);
    expect(tableOf(`${text} by x`, fields).records).toEqual([['5', '2', '1', '10', '5']]);
    expect(tableOf(`${text} by x, _source`, fields).records).toEqual([['5', '', '2', '1', '10', '5']]);
  });

  test('have exact sums of computed numbers that are not safe integers', () => {
    const fields = [
      { _size: '9007199254740991', _messagecount: '2' },
      { _size: '0.5', _messagecount: '9007199254740993' },
    ];
    const text = '* | _size + _messagecount as x | sum(x), max(x)';
    expect(tableOf(text, fields).records).toEqual([['18014398509481985', '9007199254740993']]);
  });

  test('differ for groups whose joined values are equal', () => {
    const fields = [
      { _source: 'a', _sourceHost: 'b1:c' },
      { _source: 'a1:b', _sourceHost: 'c' },
      { _source: '', _sourceHost: 'ab' },
      { _source: 'ab', _sourceHost: '' },
    ];
    expect(tableOf('* | count by _source, _sourceHost', fields).records).toHaveLength(4);
  });
});

describe('numbers', () => {
  const add = (text: string, values: readonly string[], times = 1) => {
    const aggregation = aggregationOf(text);
    for (const _size of values) aggregation.add(message({ _size }), times);
    return aggregation.table().records[0]?.[0];
  };

  test.each<[string, readonly string[], number, string]>([
    ['sum', ['9007199254740991', '9007199254740991', '5'], 1, '18014398509481987'],
    ['sum', ['9007199254740993'], 1, '9007199254740993'],
    ['sum', ['9007199254740991', '-9007199254740990', '-1'], 3, '0'],
    ['sum', ['-9007199254740991', '4503599627370497'], 3, '-13510798882111482'],
    ['sum', ['-3002399751580330', '3002399751580331'], 3, '3'],
    ['sum', ['9223372036854775807', '9223372036854775807'], 1_000_000, '18446744073709551614000000'],
    ['sum', ['0.5', '9007199254740993'], 1, '9007199254740992'],
    ['sum', ['1e21', '1'], 1, '1e+21'],
    ['sum', ['0.1', '0.2'], 1, '0.30000000000000004'],
    ['sum', ['007', '+5', ' 5', '5 ', '0x10', 'Infinity', '', '1e999', '-.5'], 1, '6.5'],
    ['avg', ['1', '2'], 5, '1.5'],
    ['avg', ['3', '5', 'x'], 1, '4'],
    ['min', ['9007199254740993', '9007199254740992'], 1, '9007199254740992'],
    ['max', ['9007199254740993', '9007199254740992', '9007199254740991.5'], 1, '9007199254740993'],
    ['max', ['10', '9', '-11', '010.50'], 1, '10.5'],
  ])('%s of %j, each %d times: %s', (name, values, times, result) => {
    expect(add(`* | ${name}(_size)`, values, times)).toBe(result);
  });

  test('are sorted after "" and before text', () => {
    const values = ['b', '10', '9', '', '-1', 'a', '1e1', '9007199254740993', '9007199254740992', 'B'];
    const fields = values.map((_source) => ({ _source }));
    const expected = ['', '-1', '9', '10', '1e1', '9007199254740992', '9007199254740993', 'B', 'a', 'b'];
    const sources = (text: string) => tableOf(text, fields).records.map(([source]) => source);
    expect(sources('* | count by _source')).toEqual(expected);
    expect(sources('* | count by _source | sort by _source')).toEqual(expected.toReversed());
  });
});

describe('an aggregation that exceeds its memory limit', () => {
  const add = (aggregation: Aggregation, from: number, to: number, behind = '') => {
    for (let index = from; index < to; index++) aggregation.add(message({ _source: `${index}${behind}` }));
  };

  test('ends with an error for too many groups, in any order', () => {
    const aggregation = aggregationOf('* | count by _source | limit 5');
    add(aggregation, 0, 100_000);
    add(aggregation, 0, 1);
    expect(aggregation.failure).toBeUndefined();
    expect(aggregation.table().records[0]).toEqual(['0', '2']);
    add(aggregation, 100_000, 100_001);
    add(aggregation, 0, 10);
    expect(aggregation.failure).toBe('The query has no records: there are more than 100000 groups.');
    expect([aggregation.recordCount, aggregation.table().records]).toEqual([0, []]);
  });

  const tooMuch = 'The query has no records: the groups and values of all queries would take more than 20 MB.';

  test('ends with an error for too many values of count_distinct in all groups together', () => {
    const ten = Array.from({ length: 10 }, (_, index) => `count_distinct(_source) as n${index}`);
    const aggregation = aggregationOf(`* | ${ten.join(', ')}`);
    add(aggregation, 0, 20_000);
    add(aggregation, 0, 10);
    expect(aggregation.table().records).toEqual([Array(10).fill('20000')]);
    add(aggregation, 20_000, 24_000);
    expect(aggregation.failure).toBe(tooMuch);
    expect(aggregation.table().records).toEqual([]);
  });

  test.each(['* | count by _source', '* | count_distinct(_source)'])(
    'ends with an error for long values: %s',
    (text) => {
      const aggregation = aggregationOf(text);
      const long = 'x'.repeat(1_000_000);
      add(aggregation, 0, 9, long);
      expect(aggregation.recordCount).toBeGreaterThan(0);
      add(aggregation, 9, 10, long);
      expect(aggregation.failure).toBe(tooMuch);
      expect(aggregation.recordCount).toBe(0);
    },
  );

  test.each([
    '* | count by _source',
    '* | count by _source, _sourceHost',
    '* | count_distinct(_source), sum(_size), max(_size) by _sourceHost',
  ])('counts the memory of all aggregations together, until they end: %s', (text) => {
    const query = parseQuery(text);
    const memory = new AggregationMemory(3);
    const shared = () => query.aggregate?.(memory) as Aggregation;
    const [one, other] = [shared(), shared()];
    for (let index = 0; one.failure === undefined && other.failure === undefined; index++) {
      add(index % 2 === 0 ? one : other, index, index + 1);
    }
    const [failed, left] = one.failure === undefined ? [other, one] : [one, other];
    expect(failed.failure).toBe(tooMuch.replace('20', '3'));
    const records = left.recordCount;
    add(left, 1_000_000, 1_000_001);
    expect([left.failure, left.recordCount > 0]).toEqual([undefined, true]);
    left.end();
    const next = shared();
    add(next, 0, 2 * records);
    expect(next.failure).toBeUndefined();
  });

  test('an aggregation that has failed frees its memory only once', () => {
    const memory = new AggregationMemory(1);
    const aggregation = parseQuery('* | count by _source').aggregate?.(memory) as Aggregation;
    add(aggregation, 0, 1, 'x'.repeat(1_000_000));
    expect(aggregation.failure).toBe(tooMuch.replace('20', '1'));
    aggregation.end();
    expect(memory.take(1_000_001)).toBe(false);
  });

  test('each aggregation has its own table, whichever was requested last', () => {
    const query = parseQuery('* | count by _source');
    const memory = new AggregationMemory();
    const [one, other] = [query.aggregate?.(memory) as Aggregation, query.aggregate?.(memory) as Aggregation];
    add(one, 0, 2);
    add(other, 5, 6);
    expect([one, other, one].map((each) => each.table().records.length)).toEqual([2, 1, 2]);
    add(one, 2, 3);
    expect([one, other].map((each) => each.table().records.length)).toEqual([3, 1]);
  });
});

/** Computes the expected result of an aggregation in the simplest way. */
function model(rows: readonly RecordFields[], keys: readonly string[]): readonly (readonly string[])[] {
  const groups = Map.groupBy(rows, (row) => JSON.stringify(keys.map((key) => row[key] ?? '')));
  const records = [...groups].map(([id, members]) => {
    const sizes = members.flatMap(({ _size }) => (_size !== undefined && /^-?\d+$/.test(_size) ? [BigInt(_size)] : []));
    const sorted = sizes.toSorted((left, right) => (left < right ? -1 : left > right ? 1 : 0));
    const sum = sizes.reduce((total, size) => total + size, 0n);
    const ifAny = (value: unknown) => (sizes.length === 0 ? '' : String(value));
    return [
      ...(JSON.parse(id) as string[]),
      String(members.length),
      ifAny(sum),
      ifAny(Number(sum) / sizes.length),
      ifAny(sorted[0]),
      ifAny(sorted.at(-1)),
      String(new Set(members.flatMap(({ _source }) => (_source === undefined ? [] : [_source]))).size),
    ];
  });
  return records.toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));
}

describe('any rows in any groups', () => {
  const size = fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
    fc.integer().map(String),
    fc.constant('-'),
  );
  const row = fc.record(
    { _source: fc.constantFrom('a', 'b', ''), _sourceHost: fc.constantFrom('1:', 'x', '12'), _size: size },
    { requiredKeys: [] },
  );
  const lots = fc.array(fc.record({ row, times: fc.integer({ min: 1, max: 4 }) }), { minLength: 1, maxLength: 40 });
  const groupings = fc.subarray(['_source', '_sourceHost']);
  const functions = 'count, sum(_size), avg(_size), min(_size), max(_size), count_distinct(_source)';

  test('have the same records as a model that stores all rows', () => {
    fc.assert(
      fc.property(lots, groupings, (added, keys) => {
        const aggregation = aggregationOf(`* | ${functions}${keys.length > 0 ? ` by ${keys.join(', ')}` : ''}`);
        for (const { row: fields, times } of added) aggregation.add(message(fields as RecordFields), times);
        const rows = added.flatMap(({ row: fields, times }) => Array<RecordFields>(times).fill(fields as RecordFields));
        const expected = model(rows, keys);
        expect(aggregation.recordCount).toBe(expected.length);
        const records = aggregation.table().records;
        expect(records.toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1))).toEqual(
          expected,
        );
      }),
    );
  });

  test('have the same records in any order', () => {
    fc.assert(
      fc.property(lots, fc.infiniteStream(fc.nat()), (added, draws) => {
        const text = `* | ${functions} by _source, _sourceHost | sort by _count | limit 5`;
        const [one, other] = [aggregationOf(text), aggregationOf(text)];
        const ranked = added.map((lot) => ({ lot, rank: draws.next().value }));
        const shuffled = ranked.toSorted((left, right) => left.rank - right.rank).map(({ lot }) => lot);
        for (const { row: fields, times } of added) one.add(message(fields as RecordFields), times);
        for (const { row: fields, times } of shuffled) other.add(message(fields as RecordFields), times);
        expect(other.table()).toEqual(one.table());
      }),
    );
  });
});
