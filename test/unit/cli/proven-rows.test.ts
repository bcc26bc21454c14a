/** Tests the function that reads a file of JSON records from the end. It must return each record in full. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { headerOf, type RecordFormat, reversedRecords } from '../../../src/cli/export/proven-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'logfleet-records-'));
const file = join(folder, 'rows');
afterAll(() => rmSync(folder, { recursive: true }));

async function reversed(text: string, format: RecordFormat, pieceBytes: number): Promise<string> {
  writeFileSync(file, text);
  const pieces: Uint8Array[] = [];
  for await (const piece of reversedRecords(file, format, pieceBytes)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString();
}

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
