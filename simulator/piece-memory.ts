/**
 * Reusable memory for pieces (chunks) of answer bodies. It saves time, because allocating new memory takes longer than
 * writing to it.
 *
 * Invariant: lent memory is not lent again before it is returned. Memory that is never returned, for example after a
 * broken connection, is garbage collected.
 */
import { Buffer } from 'node:buffer';

/** A chunk of memory, with a view for bytes and a view for numbers. */
export interface Piece {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** Length of a chunk in bytes. Longer chunks have less overhead, shorter ones take less memory when many pages are sent. */
export const pieceBytes = 128 * 1024;
/** Maximum number of unused chunks of memory that are kept for reuse. */
const maxFree = 64;

export class PieceMemory {
  readonly #free: Piece[] = [];
  readonly #lent = new WeakMap<ArrayBufferLike, Piece>();

  /** Lends a chunk of memory of at least `bytes` bytes, with undefined content. */
  lend(bytes: number): Piece {
    if (bytes > pieceBytes) return freshPiece(bytes);
    // The chunk that was returned last is reused first, because it is most likely in the processor's cache.
    const piece = this.#free.pop() ?? freshPiece(pieceBytes);
    this.#lent.set(piece.bytes.buffer, piece);
    return piece;
  }

  /** Takes lent memory back for reuse. The argument is the lent bytes or a part of them. Memory that was not lent is ignored. */
  giveBack({ buffer }: Uint8Array): void {
    const piece = this.#lent.get(buffer);
    if (!piece) return;
    this.#lent.delete(buffer);
    if (this.#free.length < maxFree) this.#free.push(piece);
  }
}

/** Returns a chunk with new memory. */
export function freshPiece(length: number): Piece {
  const bytes = Buffer.allocUnsafeSlow(length);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length) };
}
