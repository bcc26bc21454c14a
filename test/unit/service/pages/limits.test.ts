/**
 * Tests that the page scanner stays within its limits (sections 2.5 and 8 of docs/service.md), does not copy rows, and
 * counts the rows before an error.
 */
import { describe, expect, test } from 'vitest';
import { PageError } from '../../../../src/service/pages/page-content.ts';
import type { PageRow } from '../../../../src/service/pages/page-row.ts';
import { PageScanner } from '../../../../src/service/pages/page-scanner.ts';

const values = '"_messageid":"1","_messagetime":"5"';
const start = '{"messages":[{"map":';

function rowOf(bytes: number): string {
  const frame = `{${values},"_raw":""}`.length;
  return `{${values},"_raw":"${'x'.repeat(bytes - frame)}"}`;
}

function scan(
  page: string,
  chunk: number,
  limits: { maxRowBytes?: number; maxDepth?: number },
  row = (_: PageRow) => {},
) {
  const scanner = new PageScanner({ row }, limits);
  const bytes = Buffer.from(page);
  try {
    for (let at = 0; at < bytes.length; at += chunk) scanner.write(bytes.subarray(at, at + chunk));
    return scanner.end().rows;
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    return { offset: error.offset, message: error.message };
  }
}

describe.each([1, 100, 100_000])('in chunks of %d bytes', (chunk) => {
  test('a row may have the maximum length but not more', () => {
    expect(scan(`${start}${rowOf(1_000)}}]}`, chunk, { maxRowBytes: 1_000 })).toBe(1);
    expect(scan(`${start}${rowOf(1_001)}}]}`, chunk, { maxRowBytes: 1_000 })).toEqual({
      offset: start.length + 1_000,
      message: `messages[0].map: expected at most 1000 bytes in a row or string, at byte ${start.length + 1_000}`,
    });
  });

  test.each([
    ['warning', `"${'x'.repeat(2_000)}"`],
    ['fields', `[${'{"name":"x"},'.repeat(200)}{"name":"y"}]`],
    ['x'.repeat(2_000), '1'],
  ])('the first members of a page have the same limit: %.10s', (name, value) => {
    const page = `{"${name}":${value},"messages":[]}`;
    expect(scan(page, chunk, { maxRowBytes: 5_000 })).toBe(0);
    expect(scan(page, chunk, { maxRowBytes: 1_000 })).toMatchObject({
      message: expect.stringContaining('at most 1000 bytes'),
    });
  });

  test('content that the scanner skips may have any length', () => {
    expect(scan(`{"x":["${'x'.repeat(5_000)}"],"messages":[]}`, chunk, { maxRowBytes: 100 })).toBe(0);
  });

  test('all rows together may have any length', () => {
    const rows = Array.from({ length: 300 }, (_, index) => `{"map":${rowOf(100 + index)}}`);
    expect(scan(`{"messages":[${rows.join(',')}]}`, chunk, { maxRowBytes: 400 })).toBe(300);
  });

  test('the depth is limited, without recursion', () => {
    const nested = (levels: number) => `{"x":${'['.repeat(levels)}${']'.repeat(levels)},"messages":[]}`;
    expect(scan(nested(255), chunk, {})).toBe(0);
    expect(scan(nested(256), chunk, {})).toMatchObject({
      offset: 5 + 255,
      message: expect.stringContaining('256 levels'),
    });
    expect(scan(nested(200_000), chunk, { maxDepth: 200_001 })).toBe(0);
  });
});

test('a row inside a chunk is passed on without a copy', () => {
  const chunk = Buffer.from(`${start}{${values}}}]}`);
  let memory: ArrayBufferLike | undefined;
  const row = ({ bytes }: PageRow) => {
    memory = bytes.buffer;
  };
  new PageScanner({ row }).write(chunk);
  expect(memory).toBe(chunk.buffer);
});

test('the default limit of rows is 16 MiB', () => {
  const mebibyte = 1024 * 1024;
  expect(scan(`${start}${rowOf(16 * mebibyte)}}]}`, 65_536, {})).toBe(1);
  expect(scan(`${start}${rowOf(16 * mebibyte + 1)}}]}`, 65_536, {})).toMatchObject({
    offset: start.length + 16 * mebibyte,
  });
});

describe('rows that were passed on', () => {
  const rows = `{"map":{${values}}},{"map":{${values}}}`;

  test('are counted, even if an error of the page follows', () => {
    const scanner = new PageScanner({ row() {} });
    expect(() => scanner.write(Buffer.from(`{"messages":[${rows},5`))).not.toThrow();
    expect(scanner.rows).toBe(2);
    expect(() => scanner.write(Buffer.from(']'))).toThrow(PageError);
    expect(scanner.rows).toBe(2);
  });

  test('exclude the row whose sink threw, and stop after it', () => {
    const full = new Error('full');
    let given = 0;
    const row = () => {
      if (++given === 2) throw full;
    };
    const scanner = new PageScanner({ row });
    const page = Buffer.from(`{"messages":[${rows},${rows}]}`);
    expect(() => scanner.write(page)).toThrow(full);
    expect(scanner.rows).toBe(1);
    expect(() => scanner.write(page)).toThrow(full);
    expect(() => scanner.end()).toThrow(full);
    expect(given).toBe(2);
  });

  test('stop after an error of the page', () => {
    const scanner = new PageScanner({ row() {} });
    expect(() => scanner.write(Buffer.from('{]'))).toThrow(PageError);
    expect(() => scanner.write(Buffer.from(`{"messages":[${rows}]}`))).toThrow('at byte 1');
    expect(scanner.rows).toBe(0);
  });
});
