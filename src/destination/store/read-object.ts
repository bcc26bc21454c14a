/** Reads a small object into memory. */
import { hasCode } from '../../base/errors.ts';
import { largestObjectBytes } from './destination.ts';
import { tooLarge } from './destination-error.ts';

/**
 * Collects the chunks of an object. Returns undefined if the object does not exist. Throws the error
 * `destination.damaged` if it is too large.
 */
export async function readObject(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  maxBytes: number = largestObjectBytes,
): Promise<Uint8Array | undefined> {
  const content: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      content.push(Uint8Array.from(chunk));
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(name, `more than ${maxBytes}`, maxBytes);
    }
  } catch (error) {
    if (hasCode(error, 'destination.absent')) return undefined;
    throw error;
  }
  return Buffer.concat(content);
}
