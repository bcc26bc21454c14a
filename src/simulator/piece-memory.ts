/**
 * Memory for the pieces of bodies that is used over and over: fresh memory is cold, and costs more time than what is written
 * to it.
 *
 * Invariant: what was lent out is lent to nobody else until it is given back. Who never gives a piece back, because the connection
 * broke, owes nothing: the memory goes as any other does.
 */
import { Buffer } from 'node:buffer';

/** Memory seen in two ways. */
export interface Piece {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** Large enough that a piece costs little beside its bytes, small enough that many pages on their way need little memory. */
export const pieceBytes = 128 * 1024;
/** What waits to be used again. */
const mostFree = 64;

export class PieceMemory {
  readonly #free: Piece[] = [];
  /** Pieces that were lent, by their memory. */
  readonly #lent = new WeakMap<ArrayBufferLike, Piece>();

  /** A piece of at least so many bytes; what is in them is not known. */
  lend(bytes: number): Piece {
    if (bytes > pieceBytes) return freshPiece(bytes);
    // The one that came back last is the warmest.
    const piece = this.#free.pop() ?? freshPiece(pieceBytes);
    this.#lent.set(piece.bytes.buffer, piece);
    return piece;
  }

  /** `bytes` are no longer needed; they may be a part of a piece, or no piece of this memory at all. */
  giveBack({ buffer }: Uint8Array): void {
    const piece = this.#lent.get(buffer);
    if (!piece) return;
    this.#lent.delete(buffer);
    if (this.#free.length < mostFree) this.#free.push(piece);
  }
}

/** Memory of its own. */
export function freshPiece(length: number): Piece {
  const bytes = Buffer.allocUnsafeSlow(length);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length) };
}
