/**
 * Splits the body of a request to a store into pieces, so that the store's client notices progress in a slow upload.
 */
import { Readable } from 'node:stream';

/** Maximum size of a piece in bytes. */
const pieceBytes = 256 * 1024;

/** Returns a stream of the content. A stream can be read only once, so each attempt of a request needs a new one. */
export function inPieces(content: Uint8Array): Readable {
  return Readable.from(piecesOf(content));
}

function* piecesOf(content: Uint8Array): Generator<Uint8Array> {
  for (let offset = 0; offset < content.length; offset += pieceBytes)
    yield content.subarray(offset, offset + pieceBytes);
}
