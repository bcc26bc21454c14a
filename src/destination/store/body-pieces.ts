/** Sends the body of a request in pieces, so that the client of a store notices the progress of a slow upload. */
import { Readable } from 'node:stream';

/** Maximum size of a piece in bytes. */
const pieceBytes = 256 * 1024;

/** Returns a stream of the content. It can be read only once, so each attempt of a request needs another stream. */
export function inPieces(content: Uint8Array): Readable {
  return Readable.from(piecesOf(content));
}

function* piecesOf(content: Uint8Array): Generator<Uint8Array> {
  for (let offset = 0; offset < content.length; offset += pieceBytes)
    yield content.subarray(offset, offset + pieceBytes);
}
