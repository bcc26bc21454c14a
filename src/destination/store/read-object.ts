/** Reads small objects and responses of a store into memory, up to a maximum size. */
import { hasCode } from '../../base/errors.ts';
import { largestObjectBytes } from './destination.ts';
import { tooLarge } from './destination-error.ts';
import { tooLargeCode } from './store-error.ts';

/**
 * Maximum size in bytes of a successful response, such as a page of a listing. A parsed page can take 40 times as much
 * memory as its text.
 */
export const maxResponseBytes: number = 4 * 1_048_576;
/** Maximum size in bytes of an error response. */
const maxErrorBytes = 65_536;

/**
 * Collects the chunks of an object. Returns undefined if the object does not exist. Throws the error
 * `destination.damaged` if it is too large.
 */
export async function readObject(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  maxBytes: number = largestObjectBytes,
): Promise<Uint8Array | undefined> {
  try {
    const content = await collected(chunks, maxBytes);
    if (content === undefined) throw tooLarge(name, `more than ${maxBytes}`, maxBytes);
    return content;
  } catch (error) {
    if (hasCode(error, 'destination.absent')) return undefined;
    throw error;
  }
}

/**
 * Reads the body of a response. Throws an error with the code `ResponseTooLarge` if the body of a successful response
 * is too large. If the body of an error response is too large, returns an empty body instead.
 */
export async function readResponse(body: AsyncIterable<Uint8Array>, status: number): Promise<Uint8Array> {
  const isError = status >= 300;
  const content = await collected(body, isError ? maxErrorBytes : maxResponseBytes);
  if (content !== undefined) return content;
  if (isError) return new Uint8Array();
  throw responseTooLarge();
}

/** Returns the error for a response of more than `maxResponseBytes`. */
export function responseTooLarge(): Error {
  const message = `the response has more than ${maxResponseBytes} bytes`;
  return Object.assign(new Error(message), { code: tooLargeCode });
}

/** Collects the chunks of a stream. If the stream has more than `maxBytes`, closes it and returns undefined. */
async function collected(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array | undefined> {
  const content: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    content.push(Uint8Array.from(chunk));
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
  }
  return Buffer.concat(content);
}
