/**
 * Pages of messages: which rows are on them is settled at once, their JSON is written when it is taken.
 *
 * Rows go by their rank: 0 is the newest message of the data, and ranks grow towards older ones. Invariant: a page keeps ranks
 * alone, eight bytes a row; nothing writes to a piece once it was given out, unless it came from a memory and was given back to it.
 */
import { freshPiece, type Piece, type PieceMemory, pieceBytes } from '../piece-memory.ts';
import type { MessagePage } from './log-data.ts';

export interface RowWriter {
  /** Length of `{"map":{…}},` of a row, with the comma. */
  bytesOf(rank: number, withRaw: boolean): number;
  /** Writes these bytes at `offset`, and returns where they end; -1 where there is no room for them. */
  write(rank: number, withRaw: boolean, into: Piece, offset: number): number;
}

export class PagePlan {
  readonly #ranks: number[] = [];
  readonly #writer: RowWriter;
  readonly #limit: number;
  readonly #maxBytes: number;
  readonly #withRaw: boolean;
  /** With a comma behind each row. */
  #bytes = 0;

  constructor(writer: RowWriter, limit: number, maxBytes: number, withRaw: boolean) {
    this.#writer = writer;
    this.#limit = limit;
    this.#maxBytes = maxBytes;
    this.#withRaw = withRaw;
  }

  /** Puts a row behind those that are there; false where the page is full, and the row is not on it or the last one. */
  add(rank: number): boolean {
    if (this.#ranks.length >= this.#limit) return false;
    const bytes = this.#bytes + this.#writer.bytesOf(rank, this.#withRaw);
    if (bytes - 1 > this.#maxBytes && this.#ranks.length > 0) return false;
    this.#bytes = bytes;
    this.#ranks.push(rank);
    return this.#ranks.length < this.#limit && bytes < this.#maxBytes;
  }

  page(): MessagePage {
    const ranks = this.#ranks;
    const bytes = Math.max(0, this.#bytes - 1);
    return { rows: ranks.length, bytes, pieces: (memory) => pieces(ranks, bytes, this.#writer, this.#withRaw, memory) };
  }
}

function* pieces(
  ranks: readonly number[],
  totalBytes: number,
  writer: RowWriter,
  withRaw: boolean,
  memory: PieceMemory | undefined,
): Generator<Uint8Array> {
  // The one byte more is the last comma, which no page has.
  let leftBytes = totalBytes + 1;
  let next = 0;
  while (next < ranks.length) {
    const rowBytes = writer.bytesOf(ranks[next] as number, withRaw);
    const least = Math.max(rowBytes, Math.min(pieceBytes, leftBytes));
    const piece = memory ? memory.lend(least) : freshPiece(least);
    let end = 0;
    for (; next < ranks.length; next++) {
      const written = writer.write(ranks[next] as number, withRaw, piece, end);
      if (written < 0) break;
      end = written;
    }
    leftBytes -= end;
    yield piece.bytes.subarray(0, next < ranks.length ? end : end - 1);
  }
}
