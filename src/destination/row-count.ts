/**
 * Counts the rows of a data file while it is read, for each format and compression. It shares no code with the encoders, so that it
 * does not repeat their errors.
 */
import { once } from 'node:events';
import type { Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { unreachable } from '../base/assert.ts';
import type { FigureReader } from './file-figures.ts';
import type { ExportOutput } from './fingerprint.ts';
import { parquetRows } from './parquet-footer.ts';

/** Counter for one file. Both methods reject with a short sentence if the bytes are invalid. */
export interface RowCounter {
  /** The last bytes of a Parquet file, with its footer. Absent for other formats. */
  readonly tail?: () => Uint8Array;
  /** Resolves when the memory of the chunk can be reused. */
  write(piece: Uint8Array): Promise<void>;
  end(): Promise<number>;
}

/** `figures` receives the same bytes, uncompressed. */
export function countRows(
  { format, compression }: Pick<ExportOutput, 'format' | 'compression'>,
  figures?: FigureReader,
): RowCounter {
  switch (format) {
    case 'NDJSON':
      return decompressed(compression, beside(new LineTally(), figures));
    case 'CSV':
      return decompressed(compression, beside(new RecordTally(), figures));
    case 'Parquet':
      return parquetCounter();
    default:
      return unreachable(format);
  }
}

function beside(tally: Tally, figures: FigureReader | undefined): Tally {
  if (!figures) return tally;
  return {
    add(piece) {
      tally.add(piece);
      figures.add(piece);
    },
    rows: () => tally.rows(),
  };
}

interface Tally {
  add(piece: Uint8Array): void;
  rows(): number;
}

const newline = 0x0a;
const quote = 0x22;

class LineTally implements Tally {
  #lines = 0;
  #last = newline;

  add(piece: Uint8Array): void {
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, at + 1)) this.#lines++;
    this.#last = piece.at(-1) ?? this.#last;
  }

  rows(): number {
    return this.#lines + (this.#last === newline ? 0 : 1);
  }
}

/** Counts records of RFC 4180. Line breaks inside quotes belong to their record. The first record is the header. */
class RecordTally implements Tally {
  #records = 0;
  #isQuoted = false;
  #last = newline;

  add(piece: Uint8Array): void {
    for (const byte of piece) {
      if (byte === quote) this.#isQuoted = !this.#isQuoted;
      else if (byte === newline && !this.#isQuoted) this.#records++;
    }
    this.#last = piece.at(-1) ?? this.#last;
  }

  rows(): number {
    if (this.#isQuoted) throw new Error('it ends inside of quotes');
    const records = this.#records + (this.#last === newline ? 0 : 1);
    return Math.max(0, records - 1);
  }
}

/** Maximum size of a footer. It has some bytes for each column of each row group. */
const maxFooterBytes = 8 * 1024 * 1024;

function parquetCounter(): RowCounter {
  const tally = new ParquetTally();
  return { ...decompressed('None', tally), tail: () => tally.tail };
}

class ParquetTally implements Tally {
  #tail: Uint8Array[] = [];
  #bytes = 0;

  add(piece: Uint8Array): void {
    this.#tail.push(Uint8Array.from(piece));
    this.#bytes += piece.length;
    while (this.#bytes - (this.#tail[0]?.length ?? 0) >= maxFooterBytes) {
      this.#bytes -= this.#tail.shift()?.length ?? 0;
    }
  }

  rows(): number {
    return parquetRows(this.tail);
  }

  get tail(): Uint8Array {
    return Buffer.concat(this.#tail);
  }
}

function decompressed(compression: ExportOutput['compression'], tally: Tally): RowCounter {
  switch (compression) {
    case 'None':
      return {
        async write(piece) {
          tally.add(piece);
        },
        async end() {
          return tally.rows();
        },
      };
    case 'Gzip':
      return through(createGunzip(), tally);
    case 'Zstd':
      return through(createZstdDecompress(), tally);
    default:
      return unreachable(compression);
  }
}

/** Node reads only the first zstd frame of a file. Data files have one. */
function through(stream: Transform, tally: Tally): RowCounter {
  stream.on('data', (piece: Uint8Array) => tally.add(piece));
  const ended = once(stream, 'end');
  // The error is handled by the next `write` or by `end`. A failed write does not call back.
  ended.catch(() => {});
  stream.on('error', () => {});
  return {
    async write(piece) {
      // The callback comes when the stream has consumed the chunk, which slows down a fast reader.
      const written = new Promise<void>((resolve) => stream.write(piece, () => resolve()));
      await Promise.race([written, ended]);
    },
    async end() {
      stream.end();
      await ended;
      return tally.rows();
    },
  };
}
