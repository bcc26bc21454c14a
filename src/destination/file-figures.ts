/**
 * Adds up the bytes and the times of the messages in a data file again, from its text, as far as the file has the columns. By code of its
 * own, so that it is no mirror of what wrote the file. Columns of Parquet are not read.
 */
import type { MessageFigures } from './commit-record.ts';
import type { ExportOutput } from './fingerprint.ts';

/** Takes the unpacked bytes of one file. */
export interface FigureReader {
  add(piece: Uint8Array): void;
  /** After the last byte. A figure is absent where a message lacks its column, or has no whole number there. */
  end(): MessageFigures;
}

/** Undefined of a format whose columns are not read. */
export function figureReader({ format }: Pick<ExportOutput, 'format'>): FigureReader | undefined {
  if (format === 'NDJSON') return new LineFigures();
  return format === 'CSV' ? new RecordFigures() : undefined;
}

const wanted = ['_size', '_messagetime'] as const;
type Wanted = (typeof wanted)[number];

class Sum {
  #bytes = 0;
  #oldestMs = Number.POSITIVE_INFINITY;
  #newestMs = Number.NEGATIVE_INFINITY;
  #hasSizes = true;
  #hasTimes = true;

  take(value: (name: Wanted) => unknown): void {
    const [size, timeMs] = wanted.map((name) => wholeOf(value(name)));
    if (size === undefined) this.#hasSizes = false;
    else this.#bytes += size;
    if (timeMs === undefined) {
      this.#hasTimes = false;
      return;
    }
    this.#oldestMs = Math.min(this.#oldestMs, timeMs);
    this.#newestMs = Math.max(this.#newestMs, timeMs);
  }

  get figures(): MessageFigures {
    const hasTimes = this.#hasTimes && Number.isFinite(this.#oldestMs);
    return {
      ...(this.#hasSizes ? { bytes: this.#bytes } : {}),
      ...(hasTimes ? { oldestMs: this.#oldestMs, newestMs: this.#newestMs } : {}),
    };
  }
}

function wholeOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

const newline = 0x0a;

class LineFigures implements FigureReader {
  readonly #sum = new Sum();
  #rest: Buffer[] = [];

  add(piece: Uint8Array): void {
    let start = 0;
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, start)) {
      this.#line(Buffer.concat([...this.#rest, piece.subarray(start, at)]));
      this.#rest = [];
      start = at + 1;
    }
    if (start < piece.length) this.#rest.push(Buffer.from(piece.subarray(start)));
  }

  end(): MessageFigures {
    if (this.#rest.length > 0) this.#line(Buffer.concat(this.#rest));
    return this.#sum.figures;
  }

  #line(line: Buffer): void {
    const row = JSON.parse(line.toString()) as Readonly<Record<string, unknown>>;
    const names = Object.keys(row);
    this.#sum.take((name) => row[name] ?? row[names.find((each) => each.toLowerCase() === name) ?? name]);
  }
}

const [quote, comma, carriageReturn] = [0x22, 0x2c, 0x0d];

/** RFC 4180; the first record is the header. */
class RecordFigures implements FigureReader {
  readonly #sum = new Sum();
  /** Index of each column; undefined while the header is read. */
  #columns: ReadonlyMap<Wanted, number> | undefined;
  readonly #names: string[] = [];
  #cells = new Map<number, string>();
  #column = 0;
  #text: number[] = [];
  #isQuoted = false;
  #hasBytes = false;

  add(piece: Uint8Array): void {
    for (const byte of piece) this.#take(byte);
  }

  end(): MessageFigures {
    if (this.#hasBytes) this.#endRecord();
    return this.#sum.figures;
  }

  #take(byte: number): void {
    this.#hasBytes = true;
    if (byte === quote) this.#isQuoted = !this.#isQuoted;
    else if (byte === comma && !this.#isQuoted) this.#endCell();
    else if (byte === newline && !this.#isQuoted) this.#endRecord();
    else if (byte !== carriageReturn && this.#isKept) this.#text.push(byte);
  }

  /** Of long texts nothing is kept but in the columns that are added up. */
  get #isKept(): boolean {
    return !this.#columns || [...this.#columns.values()].includes(this.#column);
  }

  #endCell(): void {
    if (this.#isKept) {
      const text = Buffer.from(this.#text).toString();
      if (this.#columns) this.#cells.set(this.#column, text);
      else this.#names.push(text.toLowerCase());
      this.#text = [];
    }
    this.#column++;
  }

  #endRecord(): void {
    this.#endCell();
    const columns = this.#columns;
    if (columns) this.#sum.take((name) => this.#cells.get(columns.get(name) ?? -1));
    else this.#columns = new Map(wanted.map((name) => [name, this.#names.indexOf(name)]));
    this.#cells = new Map();
    this.#column = 0;
    this.#hasBytes = false;
  }
}
