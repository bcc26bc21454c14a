/** Pages of messages as JSON. The JSON of a page is created while the page is being sent. */
import { freshPiece, type Piece, type PieceMemory, pieceBytes } from '../base/piece-memory.ts';
import type { JsonPage } from './log-data.ts';

export interface RowWriter {
  /** Returns the length in bytes of a message's JSON, `{"map":{…}},`, including the comma. */
  bytesOf(rank: number, withRaw: boolean): number;
  /** Writes a message's JSON into `into` at `offset`. Returns the end offset, or -1 if `into` is too short. */
  write(rank: number, withRaw: boolean, into: Piece, offset: number): number;
}

export class PagePlan {
  readonly #ranks: number[] = [];
  readonly #writer: RowWriter;
  readonly #limit: number;
  readonly #maxBytes: number;
  readonly #withRaw: boolean;
  /** Length of the page in bytes, including a comma after each message. */
  #bytes = 0;

  constructor(writer: RowWriter, limit: number, maxBytes: number, withRaw: boolean) {
    this.#writer = writer;
    this.#limit = limit;
    this.#maxBytes = maxBytes;
    this.#withRaw = withRaw;
  }

  /** Adds a message if it fits on the page. Reports whether the page has room for another message. */
  add(rank: number): boolean {
    if (this.#ranks.length >= this.#limit) return false;
    const bytes = this.#bytes + this.#writer.bytesOf(rank, this.#withRaw);
    if (bytes - 1 > this.#maxBytes && this.#ranks.length > 0) return false;
    this.#bytes = bytes;
    this.#ranks.push(rank);
    return this.#ranks.length < this.#limit && bytes < this.#maxBytes;
  }

  page(): JsonPage {
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
  // There is no comma after the last message on a page.
  let leftBytes = totalBytes + 1;
  let next = 0;
  while (next < ranks.length) {
    const rowBytes = writer.bytesOf(ranks[next] as number, withRaw);
    const min = Math.max(rowBytes, Math.min(pieceBytes, leftBytes));
    const piece = memory ? memory.lend(min) : freshPiece(min);
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
