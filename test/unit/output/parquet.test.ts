/** Tests Parquet files with two independent readers, hyparquet and DuckDB. */
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { ByteSpool } from '../../../src/output/byte-spool.ts';
import { type ColumnSet, messageColumns, recordColumns } from '../../../src/output/columns.ts';
import type { Compression } from '../../../src/output/compression.ts';
import { ParquetEncoder, ParquetMemory } from '../../../src/output/parquet-encoder.ts';
import { describeParquet, query, readParquet } from './duckdb.ts';
import { encoded, rowMembers, rowWith, sorted, texts, writings, writtenRow } from './rows.ts';

const none: Compression = { kind: 'none' };

function parquet(set: ColumnSet, rows: readonly (string | Buffer)[], compression = none, groupBytes = 2 ** 24): Buffer {
  return encoded((spool) => new ParquetEncoder(spool, new ParquetMemory(set), { compression, groupBytes }), rows);
}

function read(file: Buffer): Promise<Record<string, unknown>[]> {
  const compressors = {
    GZIP: (bytes: Uint8Array) => gunzipSync(bytes),
    ZSTD: (bytes: Uint8Array) => zstdDecompressSync(bytes),
  };
  return parquetReadObjects({ file: arrayBufferOf(file), compressors });
}

function arrayBufferOf(file: Buffer): ArrayBuffer {
  return new Uint8Array(file).buffer;
}

const typed = recordColumns(
  [],
  [
    { name: 'n', fieldType: 'long' },
    { name: 'd', fieldType: 'double' },
    { name: 'b', fieldType: 'boolean' },
    { name: '_timeslice', fieldType: 'long' },
    { name: 's', fieldType: 'string' },
    { name: 'u', fieldType: 'somethingNew' },
  ],
);

describe('columns', () => {
  test('of messages have the types of 2.5', async () => {
    const described = await describeParquet(parquet(messageColumns([], [{ name: 'ms', fieldType: 'double' }]), []));
    expect(described).toMatchInlineSnapshot(`
      {
        "_blockid": "BIGINT",
        "_collector": "VARCHAR",
        "_collectorId": "BIGINT",
        "_format": "VARCHAR",
        "_messagecount": "BIGINT",
        "_messageid": "BIGINT",
        "_messagetime": "TIMESTAMP WITH TIME ZONE",
        "_raw": "VARCHAR",
        "_receipttime": "TIMESTAMP WITH TIME ZONE",
        "_rest": "VARCHAR",
        "_size": "BIGINT",
        "_source": "VARCHAR",
        "_sourceCategory": "VARCHAR",
        "_sourceHost": "VARCHAR",
        "_sourceName": "VARCHAR",
        "_sourceid": "BIGINT",
        "ms": "DOUBLE",
      }
    `);
  });

  test('are in the chosen order, and have the types that the service describes', async () => {
    const set = messageColumns(['status', '_receiptTime', '_raw'], [{ name: 'status', fieldType: 'int' }]);
    expect(Object.entries(await describeParquet(parquet(set, [])))).toEqual([
      ['status', 'BIGINT'],
      ['_receiptTime', 'TIMESTAMP WITH TIME ZONE'],
      ['_raw', 'VARCHAR'],
      ['_rest', 'VARCHAR'],
    ]);
  });

  test('of texts need no column `_rest`', async () => {
    expect(Object.keys(await describeParquet(parquet(messageColumns(['_raw', 'x'], []), [])))).toEqual(['_raw', 'x']);
  });
});

describe('values', () => {
  const one = async (members: Record<string, unknown>) => (await read(parquet(typed, [JSON.stringify(members)])))[0];

  test.each([
    ['n', '-9223372036854775808', -9223372036854775808n],
    ['n', '9223372036854775807', 9223372036854775807n],
    ['n', '9007199254740993', 9007199254740993n],
    ['n', '1.788E12', 1788000000000n],
    ['n', '-0', 0n],
    ['n', '007', 7n],
    ['n', '', null],
    ['n', null, null],
    ['n', 17, 17n],
    ['d', '0.1', 0.1],
    ['d', '1.788E12', 1.788e12],
    ['d', '0.30000000000000004', 0.30000000000000004],
    ['d', '-Infinity', Number.NEGATIVE_INFINITY],
    ['d', '', null],
    ['b', 'true', true],
    ['b', 'False', false],
    ['b', true, true],
    ['_timeslice', '1788000000123', new Date(1788000000123)],
    ['_timeslice', '-1', new Date(-1)],
    ['s', '', ''],
    ['s', 'a\0"😀\n', 'a\0"😀\n'],
    ['s', '\ud800', '\ufffd'],
    ['s', 1.5, '1.5'],
    ['s', { a: ['x', null] }, '{"a":["x",null]}'],
    ['u', '5', '5'],
  ])('%s: %j is %s', async (name, came, value) => {
    const empty = { n: null, d: null, b: null, _timeslice: null, s: null, u: null, _rest: null };
    expect(await one({ [name]: came })).toEqual({ ...empty, [name]: value });
  });

  test.each([
    ['n', '9223372036854775808', null],
    ['n', '1.5', null],
    ['n', '1e400', null],
    ['n', '9007199254740993.0', null],
    ['n', 'many', null],
    ['n', ' 1', null],
    ['n', ['1'], null],
    ['d', '1e999', null],
    ['d', '1e-999', 0],
    ['d', '0.3000000000000000166', 0.3],
    ['d', '0x10', null],
    ['b', 'yes', null],
    ['_timeslice', '9223372036854775807', null],
    ['_timeslice', 'now', null],
  ])('%s: %j is a misfit, and kept unchanged in `_rest`', async (name, came, value) => {
    expect(await one({ other: 'x', [name]: came })).toMatchObject({
      [name]: value,
      _rest: JSON.stringify({ other: 'x', [name]: came }),
    });
  });

  test('with half a million zeros are misfits if the column type would drop their last digit', async () => {
    const text = `1.${'0'.repeat(500_000)}1`;
    expect(await one({ d: text })).toMatchObject({ d: 1, _rest: JSON.stringify({ d: text }) });
  });

  test('that are misfits are counted', () => {
    const encoder = new ParquetEncoder(new ByteSpool(), new ParquetMemory(typed), { compression: none });
    for (const n of ['1', 'x', '', '1.5']) encoder.row(rowWith({ n, d: 'y', s: 'z' }));
    expect(encoder.misfits).toBe(6);
  });

  test('that are misfits are the only content of `_rest` if fields were chosen', async () => {
    const file = parquet(messageColumns(['_size', 'x'], []), [
      '{"_size":"big","x":"1","y":"2"}',
      '{"_size":"5","y":"2"}',
    ]);
    expect(await read(file)).toEqual([
      { _size: null, x: '1', _rest: '{"_size":"big"}' },
      { _size: 5n, x: null, _rest: null },
    ]);
  });

  test('that are not UTF-8 get replacement characters', async () => {
    expect(await read(parquet(messageColumns(['a'], []), [Buffer.from('{"a":"x\xff"}', 'latin1')]))).toEqual([
      { a: 'x\ufffd' },
    ]);
  });
});

const compressions: readonly Compression[] = [none, { kind: 'gzip', level: 1 }, { kind: 'zstd', level: 3 }];

describe.each(compressions)('with $kind', (compression) => {
  /**
   * Rows with various kinds of text: repeated, unique and long. The ids are near the minimum and maximum of a 64-bit
   * integer.
   */
  const members = (index: number) => ({
    _messageid: String(index % 2 ? -(2n ** 63n) + BigInt(index) : 2n ** 63n - 1n - BigInt(index)),
    _messagetime: String(1_788_000_000_000 - index),
    _sourceHost: `web-${index % 7}`,
    _raw:
      index % 500 === 0
        ? `${index} "é\n`.repeat(30_000).slice(0, 250_000)
        : `line ${index} of ${'x'.repeat(index % 90)}`,
    level: index % 3 === 0 ? 'warn' : '',
  });

  test('row groups are bounded, and two readers find every row', async () => {
    const all = Array.from({ length: 5_000 }, (_, index) => members(index));
    const set = messageColumns(['_messageid', '_messagetime', '_sourceHost', '_raw', 'level'], []);
    const file = parquet(
      set,
      all.map((each) => JSON.stringify(each)),
      compression,
      2 ** 20,
    );
    const expected = all.map((each) => ({
      ...each,
      _messageid: BigInt(each._messageid),
      _messagetime: new Date(Number(each._messagetime)),
      _rest: null,
    }));
    expect(await read(file)).toEqual(expected);
    expect(await readParquet(file)).toEqual(expected);
    const { row_groups } = parquetMetadata(arrayBufferOf(file));
    expect(row_groups.length).toBeGreaterThan(2);
    for (const group of row_groups) expect(group.total_byte_size).toBeLessThan(2 ** 20 + 300_000);
    const codecs = new Set(row_groups.flatMap(({ columns }) => columns.map(({ meta_data }) => meta_data?.codec)));
    expect([...codecs]).toEqual([{ none: 'UNCOMPRESSED', gzip: 'GZIP', zstd: 'ZSTD' }[compression.kind]]);
  });

  test('statistics are correct for searches', async () => {
    const rows = Array.from({ length: 3_000 }, (_, index) => JSON.stringify(members(index)));
    const file = parquet(messageColumns(['_messagetime', '_sourceHost'], []), rows, compression, 15_000);
    const sql = (place: string) =>
      `SELECT count(*) AS found FROM read_parquet('${place}') WHERE _sourceHost = 'web-3' AND _messagetime >= make_timestamptz(1787999999000000)`;
    const expected = Array.from({ length: 1_001 }, (_, index) => index).filter((index) => index % 7 === 3).length;
    expect(await query(file, sql)).toEqual([{ found: BigInt(expected) }]);
    const bounds = parquetMetadata(arrayBufferOf(file)).row_groups.map(
      ({ columns }) => columns[1]?.meta_data?.statistics,
    );
    expect(bounds.length).toBeGreaterThan(2);
    for (const bound of bounds) expect(bound).toMatchObject({ min_value: 'web-0', max_value: 'web-6' });
  });
});

describe.each(compressions)('columns with $kind', (compression) => {
  const rows = 4_500;
  const numbers = [
    { fieldType: 'long', name: 'n', found: (value: number) => BigInt(value) },
    { fieldType: 'double', name: 'd', found: (value: number) => value },
    { fieldType: 'long', name: '_timeslice', found: (value: number) => new Date(value) },
    { fieldType: 'string', name: 's', found: (value: number) => String(value) },
  ];

  test.each<[string, (row: number) => number | null]>([
    ['a single value', () => 7],
    ['nothing', () => null],
    ['a few values', (row) => (row % 5) - 2],
    ['a few values, and gaps', (row) => (row % 3 === 0 ? null : row % 5)],
    ['different values', (row) => row - 2 ** 31],
    ['different values, and gaps', (row) => (row % 3 === 0 ? null : 2 ** 33 * row)],
    ['different values after a few', (row) => (row < 2_000 ? row % 7 : row)],
    ['a few values after different ones', (row) => (row < 2_000 ? row : row % 7)],
    ['gaps after values', (row) => (row < 2_000 ? row : null)],
  ])('of %s', async (_, inRow) => {
    const values = Array.from({ length: rows }, (_, row) => inRow(row));
    for (const { fieldType, name, found } of numbers) {
      const written = values.map((value) => JSON.stringify({ [name]: value }));
      const file = parquet(recordColumns([], [{ name, fieldType }]), written, compression, 60_000);
      const expected = values.map((value) => (value === null ? null : found(value)));
      expect((await read(file)).map((row) => row[name])).toEqual(expected);
      expect((await readParquet(file)).map((row) => row[name])).toEqual(expected);
    }
  });

  test.each<[string, (row: number) => boolean | null]>([
    ['truth values', (row) => row % 7 === 0],
    ['truth values, and gaps', (row) => (row % 3 === 0 ? null : row % 7 === 0)],
    ['true only', () => true],
    ['no values', () => null],
  ])('of %s', async (_, inRow) => {
    const values = Array.from({ length: rows }, (_, row) => inRow(row));
    const written = values.map((b) => JSON.stringify({ b }));
    const file = parquet(recordColumns([], [{ name: 'b', fieldType: 'boolean' }]), written, compression, 60_000);
    expect((await read(file)).map(({ b }) => b)).toEqual(values);
    expect((await readParquet(file)).map(({ b }) => b)).toEqual(values);
    const found = await query(file, (place) => `SELECT count(*) AS found FROM read_parquet('${place}') WHERE b`);
    expect(found).toEqual([{ found: BigInt(values.filter((value) => value === true).length) }]);
  });
});

describe('pages', () => {
  test('of a column are several if its values do not fit into one page', async () => {
    const set = recordColumns(
      [],
      [
        { name: 'n', fieldType: 'long' },
        { name: 'few', fieldType: 'long' },
        { name: 'b', fieldType: 'boolean' },
      ],
    );
    const rows = 300_000;
    const all = Array.from({ length: rows }, (_, row) => ({
      n: row % 4 === 0 ? null : row,
      few: row % 2,
      b: row % 3 === 0,
    }));
    const file = parquet(
      set,
      all.map((row) => JSON.stringify(row)),
    );
    const { row_groups } = parquetMetadata(arrayBufferOf(file));
    expect(
      row_groups.map(({ columns }) => columns.map(({ meta_data }) => meta_data?.encoding_stats?.at(-1)?.count)),
    ).toEqual([[3, 2, 1, 1]]);
    const sql = (place: string) =>
      `SELECT count(n) AS n, sum(n) AS sum, sum(few) AS few, count_if(b) AS b, count_if(n % 2 = few) AS same FROM read_parquet('${place}')`;
    const sum = all.reduce((sum, { n }) => sum + (n ?? 0), 0);
    expect(await query(file, sql)).toEqual([
      { n: 225_000n, sum: BigInt(sum), few: 150_000n, b: 100_000n, same: 225_000n },
    ]);
  });

  test.each([
    { kilobytes: 20, pages: 1 },
    { kilobytes: 1_500, pages: 1 },
    { kilobytes: 2_400, pages: 2 },
    { kilobytes: 3_200, pages: 3 },
    { kilobytes: 3_700, pages: 4 },
  ])('of $kilobytes KB of text are $pages of equal size', ({ kilobytes, pages }) => {
    const rows = Array.from({ length: kilobytes }, (_, row) => JSON.stringify({ _raw: `${row}`.padEnd(1_000, 'x') }));
    const { row_groups } = parquetMetadata(arrayBufferOf(parquet(messageColumns(['_raw'], []), rows)));
    const found = row_groups.map(({ columns }) => columns[0]?.meta_data?.encoding_stats);
    expect(found).toEqual([[{ page_type: 'DATA_PAGE_V2', encoding: 'PLAIN', count: pages }]]);
  });

  test('can contain a text that is longer than a usual page', async () => {
    const texts = Array.from({ length: 30 }, (_, row) => (row % 4 === 1 ? null : String(row).repeat(row * 30_000)));
    const spool = new ByteSpool(2 ** 26);
    const memory = new ParquetMemory(messageColumns(['_raw'], []));
    const encoder = new ParquetEncoder(spool, memory, { compression: none, groupBytes: 2 ** 26 });
    for (const _raw of texts) encoder.row(rowWith({ _raw }));
    encoder.end();
    spool.flush();
    const file = spool.take() as Buffer;
    expect((await read(file)).map(({ _raw }) => _raw)).toEqual(texts);
    expect((await readParquet(file)).map(({ _raw }) => _raw)).toEqual(texts);
    expect(parquetMetadata(arrayBufferOf(file)).row_groups.length).toBe(1);
  });
});

test.each([1, 14, 15, 300])('the footer describes all %d row groups', async (groups) => {
  const rows = Array.from({ length: groups }, (_, row) => JSON.stringify({ a: `${row}`, _size: row }));
  const file = parquet(messageColumns(['a', '_size'], []), rows, none, 1);
  const { row_groups, num_rows } = parquetMetadata(arrayBufferOf(file));
  expect([row_groups.length, num_rows]).toEqual([groups, BigInt(groups)]);
  const expected = Array.from({ length: groups }, (_, row) => ({ a: `${row}`, _size: BigInt(row), _rest: null }));
  expect(await read(file)).toEqual(expected);
  expect(await readParquet(file)).toEqual(expected);
});

test('shortened bounds of long texts are still valid bounds', async () => {
  const rows = Array.from({ length: 2_000 }, (_, row) => JSON.stringify({ a: `${'é'.repeat(20)}${row % 2}` }));
  const file = parquet(messageColumns(['a'], []), rows);
  const bounds = parquetMetadata(arrayBufferOf(file)).row_groups[0]?.columns[0]?.meta_data?.statistics;
  expect(bounds).toMatchObject({ min_value: 'é'.repeat(8), max_value: `${'é'.repeat(7)}ê`, null_count: 0n });
  const sql = (place: string) =>
    `SELECT count(*) AS found FROM read_parquet('${place}') WHERE a = '${'é'.repeat(20)}1'`;
  expect(await query(file, sql)).toEqual([{ found: 1_000n }]);
});

test('held-back rows take at most the memory of a row group and a row, and none at the end', () => {
  const spool = new ByteSpool();
  const memory = new ParquetMemory(messageColumns([], []));
  const encoder = new ParquetEncoder(spool, memory, { compression: none, groupBytes: 2 ** 20 });
  const row = rowWith({ _raw: 'x'.repeat(10_000), other: 'y'.repeat(5_000) });
  let max = 0;
  for (let rows = 0; rows < 500; rows++) {
    encoder.row(row);
    max = Math.max(max, encoder.heldBytes);
  }
  // When a text occurs a second time, it takes up no additional memory.
  encoder.row(rowWith({ _raw: 'z'.repeat(200) }));
  const heldBytes = encoder.heldBytes;
  encoder.row(rowWith({ _raw: 'z'.repeat(200) }));
  expect(encoder.heldBytes - heldBytes).toBeLessThan(200);
  expect(max).toBeGreaterThan(2 ** 19);
  expect(max).toBeLessThan(2 ** 20);
  encoder.end();
  expect(encoder.heldBytes).toBe(0);
});

test('mostly empty columns do not make row groups smaller', () => {
  const described = Array.from({ length: 200 }, (_, index) => ({ name: `f${index}`, fieldType: 'long' }));
  const rows = Array.from({ length: 3_000 }, (_, row) => JSON.stringify({ _raw: `${row}`.padEnd(200, 'x'), f7: row }));
  const file = parquet(messageColumns([], described), rows, none, 2 ** 20);
  expect(parquetMetadata(arrayBufferOf(file)).row_groups.length).toBe(2);
});

test('random rows in any notation equal the values of JSON.parse', async () => {
  const set = messageColumns([], []);
  const names = set.columns.map(({ name }) => name);
  const rows = fc.array(fc.tuple(rowMembers, writings), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 1, max: 3_000 }), async (rows, groupBytes) => {
      const came = rows.map(([members, writing]) => writtenRow(members, writing));
      const found = await read(parquet(set, came, none, groupBytes));
      expect(found.length).toBe(rows.length);
      for (const [index, [members]] of rows.entries()) {
        const { values, others } = sorted(names, members);
        const { _rest, ...row } = found[index] as Record<string, unknown>;
        const rest = JSON.parse((_rest as string | null) ?? '{}') as Record<string, unknown>;
        for (const [name, value] of values) {
          const isText = set.columns.find((column) => column.name === name)?.type === 'text';
          if (isText) expect(row[name]).toEqual(textOf(value));
          else if (value !== null && value !== '' && row[name] === null) expect(Object.keys(rest)).not.toEqual([]);
        }
        const otherNames = new Set(others.map(([name]) => name.toWellFormed()));
        for (const name of otherNames) expect(Object.keys(rest)).toContain(name);
      }
    }),
  );
});

function textOf(value: unknown): unknown {
  if (value === null) return null;
  if (typeof value === 'string') return value.toWellFormed();
  return typeof value === 'object' ? expect.any(String) : JSON.stringify(value);
}

test('repeated texts are stored once, and other texts are kept as well', async () => {
  const repeated = fc.sample(texts, { numRuns: 40, seed: 3 }).map((text) => text.toWellFormed());
  const values = Array.from({ length: 9_000 }, (_, index) =>
    index < 3_000 ? (repeated[(index * 7) % 40] as string) : `${index}`,
  );
  const file = parquet(
    messageColumns(['a'], []),
    values.map((a) => JSON.stringify({ a })),
  );
  expect((await read(file)).map(({ a }) => a)).toEqual(values);
});

test('short texts are shared after many long texts that are not shared', async () => {
  const texts = [
    ...Array.from({ length: 1_000 }, () => 'GET /healthz 200'),
    ...Array.from({ length: 3_000 }, (_, index) => `${index} `.padEnd(300, 'x')),
    ...Array.from({ length: 3_000 }, (_, index) => `short ${index % 1_500}`),
  ];
  const rows = texts.map((text) => JSON.stringify({ _raw: text }));
  const found = await read(parquet(messageColumns(['_raw'], []), rows));
  expect(found.map((row) => row['_raw'])).toEqual(texts);
});

test('files that are written one after the other reuse memory, and have the same bytes as files with separate memory', async () => {
  const columns = messageColumns([], []);
  const write = (memoryOf: () => ParquetMemory) => {
    const chunks: Buffer[] = [];
    for (const start of [0, 5_000, 7_000]) {
      const spool = new ByteSpool();
      const encoder = new ParquetEncoder(spool, memoryOf(), { compression: none, groupBytes: 2 ** 16 });
      for (let number = start; number < start + 2_000; number++) {
        encoder.row(rowWith({ _messageid: String(number), _raw: `${number}`.repeat(20), other: number }));
      }
      encoder.end();
      spool.flush();
      for (let chunk = spool.take(); chunk; chunk = spool.take()) chunks.push(Buffer.from(chunk));
    }
    return Buffer.concat(chunks);
  };
  const memory = new ParquetMemory(columns);
  const group = memory.takeGroup();
  memory.giveBack(group);
  expect(write(() => memory).equals(write(() => new ParquetMemory(columns)))).toBe(true);
  expect(memory.takeGroup()).toBe(group);
});
