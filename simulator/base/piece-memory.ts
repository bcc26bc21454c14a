/**
 * Reusable memory for response bodies. Reuse saves time, because allocating memory takes longer than writing to it.
 *
 * Memory is lent to one user at a time. It is lent again only after it has been returned.
 */
import { Buffer } from 'node:buffer';

/** A chunk of memory, accessible as bytes and through a DataView. */
export interface Piece {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** Length of a chunk in bytes. Longer chunks are faster, and shorter chunks take less memory. */
export const pieceBytes = 128 * 1024;
/** Maximum number of free chunks kept for reuse. */
const maxFree = 64;

export class PieceMemory {
  readonly #free: Piece[] = [];
  readonly #lent = new WeakMap<ArrayBufferLike, Piece>();

  /** Lends at least `bytes` bytes of memory. The content of the memory is undefined. */
  lend(bytes: number): Piece {
    if (bytes > pieceBytes) return freshPiece(bytes);
    const piece = this.#free.pop() ?? freshPiece(pieceBytes);
    this.#lent.set(piece.bytes.buffer, piece);
    return piece;
  }

  /** Takes back memory that `lend` has lent, for reuse. Ignores all other memory. */
  giveBack({ buffer }: Uint8Array): void {
    const piece = this.#lent.get(buffer);
    if (!piece) return;
    this.#lent.delete(buffer);
    if (this.#free.length < maxFree) this.#free.push(piece);
  }
}

/** Returns a newly allocated chunk. */
export function freshPiece(length: number): Piece {
  const bytes = Buffer.allocUnsafeSlow(length);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length) };
}
