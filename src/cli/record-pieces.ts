/**
 * The records of a data file from its end to its beginning, in pieces of whole records: an interval's files have its newest rows first, and
 * people read logs from the oldest on. Of NDJSON a record is a line; of CSV line breaks inside of quotes are of their record (RFC 4180).
 *
 * Invariant: memory is bounded by a piece and the longest record, however large the file.
 */
import { open } from 'node:fs/promises';

export type RecordFormat = 'NDJSON' | 'CSV';

const usualPieceBytes = 1024 * 1024;
const newline = 0x0a;
const quote = 0x22;

/** Pieces of records, the last of the file first; of CSV without the header. */
export async function* reversedRecords(
  file: string,
  format: RecordFormat,
  pieceBytes = usualPieceBytes,
): AsyncGenerator<Uint8Array> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const splitter = new RecordSplitter(format);
    for (let end = size; end > 0; ) {
      const length = Math.min(pieceBytes, end);
      const piece = Buffer.allocUnsafe(length);
      await readFully(handle, piece, end - length);
      const records = splitter.before(piece);
      if (records.length > 0) yield records;
      end -= length;
    }
    // The first record of CSV is its header.
    const first = splitter.first();
    if (format === 'NDJSON' && first.length > 0) yield first;
  } finally {
    await handle.close();
  }
}

/** The header of a CSV file, with its line break. */
export async function headerOf(file: string): Promise<Uint8Array> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    for (let length = Math.min(size, 65_536); ; length = Math.min(size, 4 * length)) {
      const start = Buffer.allocUnsafe(length);
      await readFully(handle, start, 0);
      const end = endOfFirst(start);
      if (end !== undefined) return start.subarray(0, end);
      if (length === size) return start;
    }
  } finally {
    await handle.close();
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

async function readFully(
  handle: Awaited<ReturnType<typeof open>>,
  target: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < target.length; ) {
    const { bytesRead } = await handle.read(target, done, target.length - done, position + done);
    if (bytesRead === 0) throw new Error('a file that was being read became shorter');
    done += bytesRead;
  }
}

/** Takes the bytes of a file from its end on, and gives whole records in the reverse of their order. */
class RecordSplitter {
  readonly #countsQuotes: boolean;
  /** Whether the byte before what was read so far is inside of quotes: quotes come in pairs, from the end as well. */
  #isQuoted = false;
  /** The beginning of what was read so far, up to the end of its record. */
  #carry: Uint8Array = new Uint8Array();

  constructor(format: RecordFormat) {
    this.#countsQuotes = format === 'CSV';
  }

  /** `piece` stands right before what was given so far. */
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

  /** The first record of the file, once all before it was given. */
  first(): Uint8Array {
    return this.#carry;
  }
}
