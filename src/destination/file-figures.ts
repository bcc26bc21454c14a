/**
 * Recomputes the bytes and times of the messages in a data file from its text, if the file has these columns. It shares no code
 * with the encoders, so that it does not repeat their errors. `parquet-figures.ts` does the same for Parquet.
 */
import { type MessageFigures, sumOfFigures } from './commit-record.ts';
import type { ExportOutput } from './fingerprint.ts';
import { type SliceFigures, SliceSums } from './slice-figures.ts';

export interface FileFigures extends MessageFigures {
  /** Figures by slices of time. Absent if a message lacks its time. */
  readonly slices?: readonly SliceFigures[];
}

/** Reads the uncompressed bytes of one file. */
export interface FigureReader {
  add(piece: Uint8Array): void;
  /** Called after the last byte. A figure is absent if a message lacks its column or has no integer in it. */
  end(): FileFigures;
}

/**
 * Returns undefined for a format that is not text. `sliceMs` is the length of slices; without it, one slice contains all
 * messages.
 */
export function figureReader(
  { format }: Pick<ExportOutput, 'format'>,
  sliceMs = Number.POSITIVE_INFINITY,
): FigureReader | undefined {
  if (format === 'NDJSON') return new LineFigures(sliceMs);
  return format === 'CSV' ? new RecordFigures(sliceMs) : undefined;
}

/** Columns that the figures come from, in lower case. */
export const figureColumns = ['_size', '_messagetime'] as const;
type FigureColumn = (typeof figureColumns)[number];

/** Adds up the figures of rows. */
export class FigureSum {
  readonly #slices: SliceSums;
  #bytes = 0;
  #hasSizes = true;
  #hasTimes = true;

  constructor(sliceMs: number) {
    this.#slices = new SliceSums(sliceMs);
  }

  take(value: (name: FigureColumn) => unknown): void {
    const [size, timeMs] = figureColumns.map((name) => wholeOf(value(name)));
    if (size === undefined) this.#hasSizes = false;
    else this.#bytes += size;
    if (timeMs === undefined) this.#hasTimes = false;
    else this.#slices.add(timeMs, size);
  }

  get figures(): FileFigures {
    const { slices } = this.#slices;
    const { oldestMs, newestMs } = sumOfFigures(slices);
    const hasTimes = this.#hasTimes && oldestMs !== undefined && newestMs !== undefined;
    return {
      ...(this.#hasSizes ? { bytes: this.#bytes } : {}),
      ...(hasTimes ? { oldestMs, newestMs } : {}),
      ...(this.#hasTimes ? { slices } : {}),
    };
  }
}

function wholeOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

const newline = 0x0a;

class LineFigures implements FigureReader {
  readonly #sum: FigureSum;
  #rest: Buffer[] = [];

  constructor(sliceMs: number) {
    this.#sum = new FigureSum(sliceMs);
  }

  add(piece: Uint8Array): void {
    let start = 0;
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, start)) {
      this.#line(Buffer.concat([...this.#rest, piece.subarray(start, at)]));
      this.#rest = [];
      start = at + 1;
    }
    if (start < piece.length) this.#rest.push(Buffer.from(piece.subarray(start)));
  }

  end(): FileFigures {
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

/** Reads RFC 4180. The first record is the header. */
class RecordFigures implements FigureReader {
  readonly #sum: FigureSum;
  /** Index of each column. Undefined while the header is read. */
  #columns: ReadonlyMap<FigureColumn, number> | undefined;
  readonly #names: string[] = [];
  #cells = new Map<number, string>();
  #column = 0;
  #text: number[] = [];
  #isQuoted = false;
  #hasBytes = false;

  constructor(sliceMs: number) {
    this.#sum = new FigureSum(sliceMs);
  }

  add(piece: Uint8Array): void {
    for (const byte of piece) this.#take(byte);
  }

  end(): FileFigures {
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

  /** Whether the current cell must be kept. Other cells are skipped, since they can be long. */
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
    else this.#columns = new Map(figureColumns.map((name) => [name, this.#names.indexOf(name)]));
    this.#cells = new Map();
    this.#column = 0;
    this.#hasBytes = false;
  }
}
