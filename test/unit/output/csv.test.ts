/** Tests CSV files (RFC 4180) against csv-stringify and DuckDB. */
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ColumnSet, foldedName, messageColumns, recordColumns } from '../../../src/output/columns.ts';
import { CsvEncoder } from '../../../src/output/csv-encoder.ts';
import { readCsv } from './duckdb.ts';
import { encoded, fieldNames, type RowMembers, rowMembers, sorted, texts, writings, writtenRow } from './rows.ts';

const plain = { formulaGuard: false };
const guarded = { formulaGuard: true };

function csv(set: ColumnSet, rows: readonly (string | Buffer)[], options = guarded, chunkBytes?: number): string {
  return encoded((spool) => new CsvEncoder(spool, set, options), rows, chunkBytes).toString();
}

function lines(values: readonly string[], options = guarded): string {
  const rows = values.map((value) => JSON.stringify({ a: value }));
  return csv(messageColumns(['a'], []), rows, options).replace('a\r\n', '');
}

describe('a CSV file', () => {
  test('has only the chosen fields as columns', () => {
    const rows = ['{"b":"1","c":"x","a":"2"}', '{"c":"y"}', '{"a":null,"b":""}'];
    expect(csv(messageColumns(['a', 'b'], []), rows)).toBe('a,b\r\n2,1\r\n,\r\n,\r\n');
  });

  test('has columns for the documented fields (2.5), then for other described fields, then `_rest`', () => {
    const described = [
      { name: '_messageTime', fieldType: 'long' },
      { name: 'status', fieldType: 'string' },
    ];
    const rows = ['{"_messageid":"-1","status":"ok","x":[1, 2],"_messagetime":"1788000000000","y":"a\\"b"}'];
    expect(csv(messageColumns([], described), rows)).toBe(
      '_messageid,_sourceid,_sourceName,_sourceHost,_sourceCategory,_format,_size,_messagetime,_receipttime,_messagecount,_raw,' +
        '_source,_collectorId,_collector,_blockid,status,_rest\r\n' +
        '-1,,,,,,,1788000000000,,,,,,,,ok,"{""x"":[1, 2],""y"":""a\\""b""}"\r\n',
    );
  });

  test('without rows has only a header', () => {
    expect(csv(messageColumns(['a', 'b,c'], []), [])).toBe('a,"b,c"\r\n');
  });

  test('of a single column quotes empty cells, so that no line is empty', () => {
    expect(csv(messageColumns(['a'], []), ['{"a":""}', '{}', '{"a":"x"}'])).toBe('a\r\n""\r\n""\r\nx\r\n');
  });

  test('of records has the columns that the service describes (2.6)', () => {
    const described = [
      { name: '_sourcehost', fieldType: 'string' },
      { name: '_count', fieldType: 'int' },
    ];
    expect(csv(recordColumns([], described), ['{"_count":"7","_sourcehost":"web"}'])).toBe(
      '_sourcehost,_count,_rest\r\nweb,7,\r\n',
    );
  });

  test('names the last column `__rest` if a field is named `_rest`', () => {
    const described = [{ name: '_rest', fieldType: 'string' }];
    expect(csv(recordColumns([], described), ['{"_rest":"a","b":"c"}'])).toBe('_rest,__rest\r\na,"{""b"":""c""}"\r\n');
  });

  test('contains cells of 256 KB completely', () => {
    const long = '"x,\n'.repeat(64_000);
    const row = JSON.stringify({ a: long, b: 'y'.repeat(256_000) });
    const lines = csv(messageColumns(['a', 'b'], []), [row, row], plain, 4_096);
    expect(lines).toBe(`a,b\r\n${`"${long.replaceAll('"', '""')}",${'y'.repeat(256_000)}\r\n`.repeat(2)}`);
  });

  test('doubles many quotes in one cell', () => {
    const list = JSON.stringify(Array(2_000).fill(''));
    const cell = `"${list.replaceAll('"', '""')}"`;
    expect(csv(messageColumns(['a'], []), [`{"a":${list}}`], plain, 64)).toBe(`a\r\n${cell}\r\n`);
    expect(csv(recordColumns([], []), [`{"a":${list}}`], plain, 64)).toBe(
      `_rest\r\n"{""a"":${cell.slice(1, -1)}}"\r\n`,
    );
  });

  test('is UTF-8 even if the service sends other bytes', () => {
    const row = Buffer.from('{"a":"x\xff"}', 'latin1');
    expect(csv(messageColumns(['a'], []), [row])).toBe('a\r\nx\ufffd\r\n');
  });
});

describe('the formula guard', () => {
  const formulas = [
    '=1+1',
    '+1+1',
    '-1+1',
    '@SUM(A1)',
    '\t=1',
    '＝1',
    '＋1',
    '－1',
    '＠A',
    '-',
    '+',
    '--5',
    '-5-',
    '-5e',
    '-.5',
    '-5.',
  ];

  test.each(formulas)('puts an apostrophe before %j', (value) => {
    expect(lines([value])).toBe(`'${value}\r\n`);
    expect(lines([value], plain)).toBe(`${value}\r\n`);
  });

  test('puts an apostrophe before line breaks, and within the quotes of a cell', () => {
    expect(lines(['\r=1', '\n=1', '=1,2', '="a"'])).toBe('"\'\r=1"\r\n"\'\n=1"\r\n"\'=1,2"\r\n"\'=""a"""\r\n');
  });

  const others = ['-5', '+5', '-9223372036854775808', '-1.50', '+1e9', '-1.5E-7', "'", 'a=1', ' =1', '1-2', 'ﬀ'];

  test.each(others)('puts no apostrophe before %j', (value) => {
    expect(lines([value])).toBe(`${value}\r\n`);
  });

  test('also puts an apostrophe before column names', () => {
    expect(csv(messageColumns(['=a', 'b'], []), [])).toBe("'=a,b\r\n");
  });
});

/**
 * Returns the text of a CSV cell. This code is independent of the encoder, so that the tests can compare their results.
 */
function cellText(value: unknown, isGuarded: boolean): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  const text = value.toWellFormed();
  const isFormula = /^[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^[+-]\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);
  return isGuarded && isFormula ? `'${text}` : text;
}

/**
 * Returns the expected CSV text, as csv-stringify writes it. In a row with a single empty cell, csv-stringify omits the
 * quotes, so this function adds them.
 */
function expectedCsv(names: readonly string[], rows: readonly RowMembers[], isGuarded: boolean): string {
  const values = rows.map((members) => sorted(names, members).values);
  const table = [names, ...values.map((each) => names.map((name) => each.get(name)))];
  const cells = table.map((line) => line.map((value) => cellText(value, isGuarded)));
  const text = stringify(cells, { record_delimiter: '\r\n', quoted_match: /[\r\n]/ });
  return names.length > 1 ? text : text.replaceAll(/(?<=\r\n|^)\r\n/g, '""\r\n');
}

test('random rows in any notation equal the output of csv-stringify for JSON.parse', () => {
  const names = fc.uniqueArray(fieldNames, { minLength: 2, maxLength: 6, selector: foldedName });
  const rows = fc.array(fc.tuple(rowMembers, writings), { maxLength: 6 });
  fc.assert(
    fc.property(names, rows, fc.boolean(), fc.nat(300), (names, rows, formulaGuard, chunkBytes) => {
      const written = rows.map(([members]) => members.map(([name, value]) => [name, compact(value)] as const));
      const came = written.map((members, index) =>
        writtenRow(members, rows[index]?.[1] ?? { space: '', escapes: 'needed' }),
      );
      expect(csv(messageColumns(names, []), came, { formulaGuard }, chunkBytes + 1)).toBe(
        expectedCsv(names, written, formulaGuard),
      );
    }),
  );
});

/** Replaces an object or array with null, because csv-stringify cannot write its original JSON text. */
function compact(value: unknown): unknown {
  return typeof value === 'object' ? null : value;
}

test('DuckDB reads the written values', async () => {
  const members = fc.sample(fc.tuple(texts, texts, texts), { numRuns: 300, seed: 7 });
  // DuckDB does not support NUL characters, and reads empty cells as NULL.
  const rows = members.map((values) => values.map((value) => value.toWellFormed().replaceAll('\0', '')));
  const file = csv(
    messageColumns(['a', 'b', 'c'], []),
    rows.map(([a, b, c]) => JSON.stringify({ a, b, c })),
    plain,
  );
  const read = await readCsv(file);
  expect(read).toEqual(rows.map(([a, b, c]) => ({ a, b, c })));
});
