/**
 * Collects bytes into chunks of a fixed length. Chunks are taken in order and returned for reuse, since writing short rows into new
 * memory each time takes longer than encoding them.
 *
 * Invariant: the chunks contain exactly the written bytes, in order. A chunk is not changed between `take` and `recycle`.
 *
 * The number of waiting chunks is limited by the caller.
 */

/** Length of a chunk in bytes: small enough for a processor cache, large enough that passing it on is cheap. */
export const usualChunkBytes: number = 512 * 1024;
/** Maximum number of returned chunks that are kept for reuse. */
const maxSpare = 4;
const noBuffer = Buffer.alloc(0);

export class ByteSpool {
  /**
   * Chunk that is being filled, up to index `at`. Code that writes directly into the chunk must reserve space first and then advance `at`.
   * The chunk is empty until the first byte, so that the end of a file allocates no memory.
   */
  buffer: Buffer = noBuffer;
  at = 0;
  readonly #chunkBytes: number;
  readonly #waiting: Buffer[] = [];
  readonly #spare: Buffer[] = [];
  #waitingBytes = 0;
  /** Number of bytes in all chunks that are full. */
  #filledBytes = 0;

  constructor(chunkBytes: number = usualChunkBytes) {
    this.#chunkBytes = chunkBytes;
  }

  /** Number of bytes written so far. */
  get totalBytes(): number {
    return this.#filledBytes + this.at;
  }

  /** Number of bytes in chunks that were not taken yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  append(bytes: Uint8Array): void {
    let from = 0;
    while (bytes.length - from > this.buffer.length - this.at) {
      const fits = this.buffer.length - this.at;
      this.buffer.set(bytes.subarray(from, from + fits), this.at);
      this.at += fits;
      from += fits;
      this.#nextChunk(this.#chunkBytes);
    }
    this.buffer.set(from === 0 ? bytes : bytes.subarray(from), this.at);
    this.at += bytes.length - from;
  }

  appendByte(byte: number): void {
    if (this.at === this.buffer.length) this.#nextChunk(this.#chunkBytes);
    this.buffer[this.at++] = byte;
  }

  /** Reserves contiguous space after `at`. For this purpose the current chunk may end early, and the new chunk may be longer than usual. */
  reserve(bytes: number): void {
    if (bytes > this.buffer.length - this.at) this.#nextChunk(Math.max(bytes, this.#chunkBytes));
  }

  /** Returns the next chunk that is full or was ended by `flush`. */
  take(): Buffer | undefined {
    const chunk = this.#waiting.shift();
    if (chunk !== undefined) this.#waitingBytes -= chunk.length;
    return chunk;
  }

  /** Ends the current chunk even if it is not full. */
  flush(): void {
    if (this.at === 0) return;
    this.#endChunk();
    this.buffer = this.#spare.pop() ?? noBuffer;
  }

  /** Takes back a chunk whose bytes have been written. Its memory may be overwritten from now on. */
  recycle(chunk: Buffer): void {
    if (chunk.buffer.byteLength === this.#chunkBytes && this.#spare.length < maxSpare) {
      this.#spare.push(Buffer.from(chunk.buffer));
    }
  }

  #nextChunk(nextBytes: number): void {
    this.#endChunk();
    const spare = nextBytes === this.#chunkBytes ? this.#spare.pop() : undefined;
    this.buffer = spare ?? Buffer.allocUnsafeSlow(nextBytes);
  }

  #endChunk(): void {
    if (this.at === 0) return;
    this.#waiting.push(this.buffer.subarray(0, this.at));
    this.#waitingBytes += this.at;
    this.#filledBytes += this.at;
    this.at = 0;
  }
}
