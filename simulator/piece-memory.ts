/**
 * Reusable memory for pieces of bodies. New memory costs more time than writing to it.
 *
 * Invariant: lent memory is not lent again before it is given back. Memory that is never given back, for example after a broken
 * connection, is garbage collected.
 */
import { Buffer } from 'node:buffer';

/** A buffer with two views. */
export interface Piece {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** Length of a piece. Large enough to make the overhead of a piece small, and small enough to send many pages with little memory. */
export const pieceBytes = 128 * 1024;
/** Maximum number of free pieces. */
const maxFree = 64;

export class PieceMemory {
  readonly #free: Piece[] = [];
  /** Lent pieces by their buffer. */
  readonly #lent = new WeakMap<ArrayBufferLike, Piece>();

  /** Returns a piece of at least `bytes` bytes with undefined content. */
  lend(bytes: number): Piece {
    if (bytes > pieceBytes) return freshPiece(bytes);
    // The last returned piece is most likely in the processor's cache.
    const piece = this.#free.pop() ?? freshPiece(pieceBytes);
    this.#lent.set(piece.bytes.buffer, piece);
    return piece;
  }

  /** Returns memory. `bytes` may be a part of a piece, or memory from elsewhere, which is ignored. */
  giveBack({ buffer }: Uint8Array): void {
    const piece = this.#lent.get(buffer);
    if (!piece) return;
    this.#lent.delete(buffer);
    if (this.#free.length < maxFree) this.#free.push(piece);
  }
}

/** Returns a piece with memory of its own. */
export function freshPiece(length: number): Piece {
  const bytes = Buffer.allocUnsafeSlow(length);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length) };
}
