/**
 * A response body: either a string, or chunks of bytes that are created while the body is being sent.
 *
 * A body can be read repeatedly. Each read yields exactly `bytes` bytes.
 */
import { Buffer } from 'node:buffer';
import type { PieceMemory } from './piece-memory.ts';

export interface PiecedBody {
  readonly bytes: number;
  /** Yields the body in chunks. A chunk is valid until the caller returns it to `memory`, which reuses it. */
  pieces(memory?: PieceMemory): Iterable<Uint8Array>;
}

export type Body = string | PiecedBody;

export function bytesOf(body: Body): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.bytes;
}

export function piecesOf(body: Body, memory?: PieceMemory): Iterable<Uint8Array> {
  if (typeof body !== 'string') return body.pieces(memory);
  return body === '' ? [] : [Buffer.from(body)];
}

export function textOf(body: Body): string {
  return typeof body === 'string' ? body : Buffer.concat([...body.pieces()]).toString('utf8');
}

export function* firstBytes(pieces: Iterable<Uint8Array>, bytes: number): Generator<Uint8Array> {
  let left = bytes;
  for (const piece of pieces) {
    if (piece.length >= left) {
      if (left > 0) yield piece.subarray(0, left);
      return;
    }
    left -= piece.length;
    yield piece;
  }
}

/** Splits chunks that are longer than `pieceBytes`. */
export function* cutUp(pieces: Iterable<Uint8Array>, pieceBytes: number): Generator<Uint8Array> {
  for (const piece of pieces) {
    for (let offset = 0; offset < piece.length; offset += pieceBytes) {
      yield piece.subarray(offset, offset + pieceBytes);
    }
  }
}
