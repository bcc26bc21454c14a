/**
 * Reads a data file to verify it. The reader shares no code with the encoders, so it also detects encoder bugs.
 * `parquet-file.ts` reads Parquet.
 */
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { JsonObject } from '../base/record.ts';
import { type FigureColumn, FigureSum, type FileContent, figureColumns } from './file-figures.ts';
import type { ExportOutput } from './fingerprint.ts';
import { readParquet } from './parquet-file.ts';

/** Reads a data file. Rejects if the file is not valid. Rows are counted in periods of `sliceMs`. */
export async function readContent(
  { format, compression }: Pick<ExportOutput, 'format' | 'compression'>,
  file: AsyncIterable<Uint8Array>,
  sliceMs = Number.POSITIVE_INFINITY,
): Promise<FileContent> {
  const sum = new FigureSum(sliceMs);
  if (format === 'Parquet') return readParquet(file, sum);
  const reader = format === 'NDJSON' ? new NdjsonReader(sum) : new CsvReader(sum);
  const read = async (text: AsyncIterable<Uint8Array>) => {
    for await (const chunk of text) reader.add(chunk);
  };
  if (compression === 'None') await read(file);
  else await pipeline(file, compression === 'Gzip' ? createGunzip(oneChunk) : createZstdDecompress(oneChunk), read);
  return { rows: reader.end(), figures: async () => sum.figures };
}

/**
 * Options that make a decompressor finish each chunk before it accepts the next one. This is necessary because the
 * memory of a chunk is reused.
 */
const oneChunk = { chunkSize: 256 * 1024, writableHighWaterMark: 1 };

interface TextReader {
  add(chunk: Uint8Array): void;
  /** Marks the end of the file, and returns its number of rows. */
  end(): number;
}

/** Maximum size of a row in bytes. Without a limit, a small compressed file could fill the memory. */
const maxRowBytes = 128 * 1024 * 1024;

function checkRow(bytes: number): void {
  if (bytes > maxRowBytes) throw new Error(`a row has more than ${maxRowBytes} bytes`);
}

/** Reports whether a field's name equals `name`, ignoring case. `name` must be in lower case. */
function isSpelling(field: string, name: string): boolean {
  // Comparing the lengths first avoids most conversions to lower case.
  return field.length === name.length && field.toLowerCase() === name;
}

const [newline, quote, comma, carriageReturn] = [0x0a, 0x22, 0x2c, 0x0d];

class NdjsonReader implements TextReader {
  readonly #sum: FigureSum;
  #rows = 0;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(sum: FigureSum) {
    this.#sum = sum;
  }

  add(chunk: Uint8Array): void {
    let start = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
      this.#line(Buffer.concat([...this.#rest, chunk.subarray(start, at)]));
      this.#rest = [];
      this.#restBytes = 0;
      start = at + 1;
    }
    if (start < chunk.length) this.#rest.push(Buffer.from(chunk.subarray(start)));
    this.#restBytes += chunk.length - start;
    checkRow(this.#restBytes);
  }

  end(): number {
    if (this.#rest.length > 0) this.#line(Buffer.concat(this.#rest));
    return this.#rows;
  }

  #line(line: Buffer): void {
    const row = JSON.parse(line.toString()) as JsonObject;
    const names = Object.keys(row);
    this.#sum.take((name) => row[names.findLast((each) => isSpelling(each, name)) ?? name]);
    this.#rows++;
  }
}

/** Reads CSV according to RFC 4180. The first record is the header. */
class CsvReader implements TextReader {
  readonly #sum: FigureSum;
  #rows = 0;
  /** Indices of the columns whose values are needed. Undefined until the header has been read. */
  #columns: ReadonlyMap<FigureColumn, number> | undefined;
  readonly #names: string[] = [];
  #cells = new Map<number, string>();
  #column = 0;
  /** Text of the current CSV cell: the first `#length` bytes. */
  #text = Buffer.allocUnsafe(1024);
  #length = 0;
  #isQuoted = false;
  /** Number of bytes of the current record so far. */
  #bytes = 0;

  constructor(sum: FigureSum) {
    this.#sum = sum;
  }

  add(chunk: Uint8Array): void {
    for (const byte of chunk) this.#take(byte);
  }

  end(): number {
    if (this.#isQuoted) throw new Error('it ends inside of quotes');
    if (this.#bytes > 0) this.#endRecord();
    return this.#rows;
  }

  #take(byte: number): void {
    checkRow(++this.#bytes);
    if (byte === quote) this.#isQuoted = !this.#isQuoted;
    else if (byte === comma && !this.#isQuoted) this.#endCell();
    else if (byte === newline && !this.#isQuoted) this.#endRecord();
    else if (byte !== carriageReturn && this.#isKept) this.#append(byte);
  }

  /** True if the text of the current CSV cell is needed. The text of header cells is always needed. */
  get #isKept(): boolean {
    return !this.#columns || [...this.#columns.values()].includes(this.#column);
  }

  #endCell(): void {
    if (this.#isKept) {
      const text = this.#text.toString('utf8', 0, this.#length);
      if (this.#columns) this.#cells.set(this.#column, text);
      else this.#names.push(text.toLowerCase());
      this.#length = 0;
    }
    this.#column++;
  }

  #append(byte: number): void {
    if (this.#length === this.#text.length) this.#text = Buffer.concat([this.#text], 2 * this.#length);
    this.#text[this.#length++] = byte;
  }

  #endRecord(): void {
    this.#endCell();
    const columns = this.#columns;
    if (columns) {
      this.#sum.take((name) => this.#cells.get(columns.get(name) ?? -1));
      this.#rows++;
    } else {
      this.#columns = new Map(figureColumns.map((name) => [name, this.#names.indexOf(name)]));
    }
    this.#cells = new Map();
    this.#column = 0;
    this.#bytes = 0;
  }
}
