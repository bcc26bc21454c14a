/**
 * The body of an answer: a text, or pieces that are made when they are sent. A page of 100 MB is never in memory as a whole
 * unless somebody asks for its text.
 *
 * Invariant: a body can be gone through more than once, and `bytes` is what comes out each time.
 */
import { Buffer } from 'node:buffer';
import type { PieceMemory } from './piece-memory.ts';

export interface PiecedBody {
  /** Of all pieces together. */
  readonly bytes: number;
  /** With `memory`, a piece stays as it is until it is given back to it. */
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

/** The whole of it as UTF-8. */
export function textOf(body: Body): string {
  return typeof body === 'string' ? body : Buffer.concat([...body.pieces()]).toString('utf8');
}

/** The first `bytes` of the pieces. */
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

/** The same bytes in pieces of `pieceBytes` at most. */
export function* cutUp(pieces: Iterable<Uint8Array>, pieceBytes: number): Generator<Uint8Array> {
  for (const piece of pieces) {
    for (let offset = 0; offset < piece.length; offset += pieceBytes) {
      yield piece.subarray(offset, offset + pieceBytes);
    }
  }
}
