/** Tests files that contain aggregation records (section 2.6 of docs/service.md), in each file format. */
import { parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import { recordColumns } from '../../../src/output/columns.ts';
import type { Compression } from '../../../src/output/compression.ts';
import { fileForm, type OutputFormat } from '../../../src/output/output-format.ts';
import { recordRow } from '../../../src/output/record-row.ts';
import { encoded } from './rows.ts';

const records = [
  new Map([
    ['_sourcehost', 'web,1'],
    ['_count', '12'],
    ['_timeslice', '1788000000000'],
    ['avg', '1.788E12'],
  ]),
  new Map([
    ['_sourcehost', '=x'],
    ['_count', '9007199254740993'],
    ['1', 'extra'],
  ]),
];
const columns = recordColumns(
  [],
  [
    { name: '_timeslice', fieldType: 'long' },
    { name: '_sourcehost', fieldType: 'string' },
    { name: '_count', fieldType: 'int' },
    { name: 'avg', fieldType: 'double' },
  ],
);
const none: Compression = { kind: 'none' };

function file(format: OutputFormat): Buffer {
  const { encoder } = fileForm(format, none);
  return encoded(
    encoder,
    records.map((record) => Buffer.from(recordRow(record).bytes)),
  );
}

test('NDJSON keeps the order of members in a record', () => {
  expect(file({ kind: 'ndjson', fields: [] }).toString()).toBe(
    '{"_sourcehost":"web,1","_count":"12","_timeslice":"1788000000000","avg":"1.788E12"}\n' +
      '{"_sourcehost":"=x","_count":"9007199254740993","1":"extra"}\n',
  );
  expect(file({ kind: 'ndjson', fields: ['_count'] }).toString()).toBe(
    '{"_count":"12"}\n{"_count":"9007199254740993"}\n',
  );
});

test('CSV has the columns that the service describes', () => {
  expect(file({ kind: 'csv', columns, formulaGuard: true }).toString()).toBe(
    '_timeslice,_sourcehost,_count,avg,_rest\r\n' +
      '1788000000000,"web,1",12,1.788E12,\r\n' +
      `,'=x,9007199254740993,,"{""1"":""extra""}"\r\n`,
  );
});

test('Parquet has the types that the service describes', async () => {
  const parquet = file({ kind: 'parquet', columns });
  expect(await parquetReadObjects({ file: new Uint8Array(parquet).buffer })).toEqual([
    { _timeslice: new Date(1_788_000_000_000), _sourcehost: 'web,1', _count: 12n, avg: 1.788e12, _rest: null },
    { _timeslice: null, _sourcehost: '=x', _count: 9007199254740993n, avg: null, _rest: '{"1":"extra"}' },
  ]);
});

test.each([
  ['ndjson', 'none'],
  ['ndjson', 'gzip'],
  ['csv', 'zstd'],
  ['parquet', 'gzip'],
] as const)('a file of %s is compressed by %s, and Parquet only once', (kind, packing) => {
  const compression: Compression = packing === 'none' ? none : { kind: packing, level: 1 };
  const form = fileForm({ kind, fields: [], columns, formulaGuard: true }, compression);
  expect(form.compression).toEqual(kind === 'parquet' ? none : compression);
});
