/**
 * Counts the rows of a data file as it is read, by its format and compression: by code of its own, so that it is no mirror of the
 * encoders.
 */
import { once } from 'node:events';
import type { Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { unreachable } from '../base/assert.ts';
import type { FigureReader } from './file-figures.ts';
import type { ExportOutput } from './fingerprint.ts';
import { parquetRows } from './parquet-footer.ts';

/** One file. Both reject with a short sentence when the bytes are not of the format. */
export interface RowCounter {
  /** The piece is the caller's again once this resolves. */
  write(piece: Uint8Array): Promise<void>;
  end(): Promise<number>;
}

/** `figures` sees the same bytes, unpacked. */
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
      return decompressed('None', new ParquetTally());
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

/** RFC 4180: line breaks inside of quotes are of their record. The first record is the header. */
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

/** A footer is smaller than this: it has some bytes for each column of each row group. */
const maxFooterBytes = 8 * 1024 * 1024;

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
    return parquetRows(Buffer.concat(this.#tail));
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

/** Node gives up on the rest of a file with several zstd frames: data files have one. */
function through(stream: Transform, tally: Tally): RowCounter {
  stream.on('data', (piece: Uint8Array) => tally.add(piece));
  const ended = once(stream, 'end');
  // Rejects with the stream's error, which is met by whoever writes next, or by `end`: a write that fails does not call back.
  ended.catch(() => {});
  stream.on('error', () => {});
  return {
    async write(piece) {
      // Calls back when the stream is done with the piece, which is how it holds a fast reader up.
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
