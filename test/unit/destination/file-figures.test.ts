/** Tests how message sizes and times are computed from the text of a data file. */
import { expect, test } from 'vitest';
import { readContent } from '../../../src/destination/file-reader.ts';

const lines = `{"_size":"12","_raw":"a","_messageTime":"1788000000500"}
{"_messageTime":"1788000000100","_raw":"b\\n_size","_size":"30"}
`;
const records = `_raw,_size,"_messagetime"\r\n"a, ""b""\nc",12,1788000000500\r\nd,30,1788000000100\r\n`;
const sums = { bytes: 42, oldestMs: 1_788_000_000_100, newestMs: 1_788_000_000_500 };
const figures = { ...sums, slices: [{ fromMs: 0, rows: 2, ...sums, offsetsMs: 3_576_000_000_600 }] };
const ofFive = { oldestMs: 5, newestMs: 5 };
const one = { ...ofFive, slices: [{ fromMs: 0, rows: 1, ...ofFive, offsetsMs: 5 }] };

async function* noFile(): AsyncIterable<Uint8Array> {}

async function* inChunks(text: string, length: number): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function read(format: 'NDJSON' | 'CSV', text: string, length = text.length, sliceMs?: number) {
  const content = await readContent({ format, compression: 'None' }, inChunks(text, length), sliceMs);
  return content.figures(noFile);
}

test.each([
  ['NDJSON', lines],
  ['NDJSON', lines.trimEnd()],
  ['CSV', records],
  ['CSV', records.trimEnd()],
] as const)('%s: sum of bytes, oldest and newest time', async (format, text) => {
  for (const length of [1, 2, 7, text.length]) expect(await read(format, text, length)).toEqual(figures);
});

test('each slice of time has its own figures (E6)', async () => {
  const { slices } = await read('CSV', records, records.length, 200);
  expect(slices).toEqual([
    {
      ...{ fromMs: 1_788_000_000_000, rows: 1, bytes: 30, offsetsMs: 100 },
      ...{ oldestMs: 1_788_000_000_100, newestMs: 1_788_000_000_100 },
    },
    {
      ...{ fromMs: 1_788_000_000_400, rows: 1, bytes: 12, offsetsMs: 100 },
      ...{ oldestMs: 1_788_000_000_500, newestMs: 1_788_000_000_500 },
    },
  ]);
});

test.each(['-5', '+5', ' 5', '0x10', 'many'])('the size %j is unknown, as in the export', async (size) => {
  expect(await read('NDJSON', `{"_size":"${size}","_messagetime":"5"}\n`)).toEqual(one);
  expect(await read('CSV', `_messagetime,_size\n5,${size}\n`)).toEqual(one);
});

test('a size can have an exponent, and a time can be negative', async () => {
  const sums = { bytes: 1_500, oldestMs: -5, newestMs: -5 };
  expect(await read('CSV', '_messagetime,_size\n-5,1.5e3\n')).toMatchObject(sums);
});

test('the sum of sizes includes messages without a time', async () => {
  const text = (size: number) => `_messagetime,_size\n5,1\n,${size}\n`;
  expect(await read('CSV', text(2))).toEqual({ bytes: 3 });
  expect(await read('CSV', text(Number.MAX_SAFE_INTEGER - 1))).toEqual({ bytes: Number.MAX_SAFE_INTEGER });
  expect(await read('CSV', text(Number.MAX_SAFE_INTEGER))).toEqual({});
});

test.each([
  ['a column is missing', 'NDJSON', '{"_size":"12"}\n', { bytes: 12 }],
  ['a row lacks a value', 'NDJSON', '{"_size":"","_messagetime":"5"}\n', one],
  ['a column is missing', 'CSV', '_messagetime\n5\n', one],
  ['there are no rows', 'CSV', '_messagetime,_size\n', { bytes: 0, slices: [] }],
] as const)('unknown figures are omitted if %s: %s', async (_, format, text, expected) => {
  expect(await read(format, text)).toEqual(expected);
});
