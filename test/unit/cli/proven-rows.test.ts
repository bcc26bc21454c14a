/** Tests the functions that print the rows of an export, and that read a file of records from its end. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { headerOf, provenRows, type RecordFormat, reversedRecords } from '../../../src/cli/export/proven-rows.ts';
import type { Manifest } from '../../../src/destination/manifest.ts';

const folder = mkdtempSync(join(tmpdir(), 'logfleet-records-'));
const file = join(folder, 'rows');
afterAll(() => rmSync(folder, { recursive: true }));

async function reversed(text: string, format: RecordFormat, pieceBytes: number): Promise<string> {
  writeFileSync(file, text);
  const pieces: Uint8Array[] = [];
  for await (const piece of reversedRecords(file, format, pieceBytes)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString();
}

test.each([
  ['Messages', 'NDJSON', ['4\n3\n', '2\n1\n', '6\n5\n'], '1\n2\n3\n4\n5\n6\n'],
  ['Messages', 'CSV', ['n\r\n4\r\n3\r\n', 'n\r\n2\r\n1\r\n', 'n\r\n5\r\n'], 'n\r\n1\r\n2\r\n3\r\n4\r\n5\r\n'],
  ['Records', 'NDJSON', ['1\n2\n', '3\n', '4\n'], '1\n2\n3\n4\n'],
  ['Records', 'CSV', ['n\r\n1\r\n', 'n\r\n2\r\n', 'n\r\n3\r\n'], 'n\r\n1\r\n2\r\n3\r\n'],
])(
  '%s in %s files are printed in order, even if an interval has two files',
  async (results, format, texts, expected) => {
    const names = texts.map((text, index) => {
      writeFileSync(join(folder, `part-${index}`), text);
      return { name: `part-${index}` };
    });
    const intervals = [{ files: names.slice(0, 2) }, { files: names.slice(2) }];
    const manifest = { export: { results, output: { format } }, intervals } as unknown as Manifest;
    const chunks: Uint8Array[] = [];
    for await (const chunk of provenRows(folder, manifest)) chunks.push(Buffer.from(chunk));
    expect(Buffer.concat(chunks).toString()).toBe(expected);
  },
);

const sizes = fc.integer({ min: 1, max: 40 });

test('lines of NDJSON with quotes and escapes', async () => {
  const line = fc.string({ unit: 'binary' }).map((text) => `${JSON.stringify(text)}\n`);
  await fc.assert(
    fc.asyncProperty(fc.array(line), sizes, async (lines, pieceBytes) => {
      expect(await reversed(lines.join(''), 'NDJSON', pieceBytes)).toBe(lines.toReversed().join(''));
    }),
  );
});

test('records of CSV with line breaks and quotes inside quotes, without the header', async () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'ü', '"', ',', '\n', '\r') });
  const record = fc
    .array(cell, { minLength: 1, maxLength: 3 })
    .map(
      (cells) =>
        `${cells.map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(',')}\r\n`,
    );
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1 }), sizes, async ([header = '', ...rows], pieceBytes) => {
      expect(await reversed([header, ...rows].join(''), 'CSV', pieceBytes)).toBe(rows.toReversed().join(''));
      expect(Buffer.from(await headerOf(file)).toString()).toBe(header);
    }),
  );
});
