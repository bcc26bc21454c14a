/**
 * Prints the rows of a complete export to stdout, messages oldest first. A file of messages begins with the newest
 * message, so it is read backwards. Only one chunk and the longest record are kept in memory.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Manifest } from '../../destination/manifest.ts';

export type RecordFormat = 'NDJSON' | 'CSV';

const usualPieceBytes = 1024 * 1024;
const newline = 0x0a;
const quote = 0x22;

/**
 * Yields all rows of the export in chunks. Messages are in chronological order. CSV output begins with a single header.
 */
export async function* provenRows(folder: string, manifest: Manifest): AsyncGenerator<Uint8Array> {
  const { output, results } = manifest.export;
  const format: RecordFormat = output.format === 'CSV' ? 'CSV' : 'NDJSON';
  const files = manifest.intervals.flatMap((interval) => {
    const paths = interval.files.map(({ name }) => join(folder, name));
    return results === 'Messages' ? paths.reverse() : paths;
  });
  const [first] = files;
  if (format === 'CSV' && first !== undefined) yield await headerOf(first);
  for (const file of files) yield* results === 'Messages' ? reversedRecords(file, format) : records(file, format);
}

async function* records(file: string, format: RecordFormat): AsyncGenerator<Uint8Array> {
  const start = format === 'CSV' ? (await headerOf(file)).length : 0;
  yield* createReadStream(file, { start });
}

/** Yields the records of a file in reverse order, without the CSV header. */
export async function* reversedRecords(
  file: string,
  format: RecordFormat,
  pieceBytes = usualPieceBytes,
): AsyncGenerator<Uint8Array> {
  const splitter = new RecordSplitter(format);
  for (let { size: end } = await stat(file); end > 0; end -= pieceBytes) {
    const records = splitter.before(await readBytes(file, Math.max(0, end - pieceBytes), end));
    if (records.length > 0) yield records;
  }
  // In a CSV file, the first record is the header, which is not a row.
  const first = splitter.first();
  if (format === 'NDJSON' && first.length > 0) yield first;
}

export async function headerOf(file: string): Promise<Uint8Array> {
  const { size } = await stat(file);
  for (let length = Math.min(size, 65_536); ; length = Math.min(size, 4 * length)) {
    const start = await readBytes(file, 0, length);
    const end = endOfFirst(start);
    if (end !== undefined) return start.subarray(0, end);
    if (length === size) return start;
  }
}

function endOfFirst(bytes: Uint8Array): number | undefined {
  let isQuoted = false;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === quote) isQuoted = !isQuoted;
    else if (bytes[at] === newline && !isQuoted) return at + 1;
  }
  return undefined;
}

async function readBytes(file: string, start: number, end: number): Promise<Uint8Array> {
  if (start === end) return new Uint8Array();
  const bytes = await buffer(createReadStream(file, { start, end: end - 1, highWaterMark: end - start }));
  if (bytes.length < end - start) throw new Error('a file that was being read became shorter');
  return bytes;
}

/** Splits a file into whole records. The file is read backwards, one chunk at a time. */
class RecordSplitter {
  readonly #countsQuotes: boolean;
  /**
   * True if the byte that was read last is inside quotes. Quotes come in pairs, so counting them from the end of the
   * file has the same result as counting them from the beginning.
   */
  #isQuoted = false;
  /** End of a record whose beginning has not been read yet. */
  #carry: Uint8Array = new Uint8Array();

  constructor(format: RecordFormat) {
    this.#countsQuotes = format === 'CSV';
  }

  /**
   * Takes the chunk that precedes the chunk of the previous call. Returns the records that have now been read
   * completely.
   */
  before(piece: Uint8Array): Uint8Array {
    const records: Uint8Array[] = [];
    let end = piece.length;
    for (let at = piece.length - 1; at >= 0; at--) {
      const byte = piece[at];
      if (byte === quote && this.#countsQuotes) this.#isQuoted = !this.#isQuoted;
      if (byte !== newline || this.#isQuoted) continue;
      records.push(piece.subarray(at + 1, end), this.#carry);
      this.#carry = new Uint8Array();
      end = at + 1;
    }
    this.#carry = Buffer.concat([piece.subarray(0, end), this.#carry]);
    return Buffer.concat(records);
  }

  /** Returns the first record of the file. Call it only after all chunks have been passed to `before`. */
  first(): Uint8Array {
    return this.#carry;
  }
}
