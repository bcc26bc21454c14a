/** Collects bytes into chunks of a fixed length. The consumer returns each chunk, so that its memory can be reused. */

/** Length of a chunk in bytes. It is small enough for the CPU cache. */
export const usualChunkBytes: number = 512 * 1024;
/** Maximum number of unused chunks that are kept for reuse. */
const maxSpare = 4;
/** Unused chunks of the usual length, shared by all files. */
const usualSpare: Buffer[] = [];
const noBuffer = Buffer.alloc(0);

export class ByteSpool {
  /**
   * Chunk that is being filled. Its first `at` bytes are in use. Call `reserve` before writing into the chunk directly.
   */
  buffer: Buffer = noBuffer;
  at = 0;
  readonly #chunkBytes: number;
  readonly #waiting: Buffer[] = [];
  readonly #spare: Buffer[];
  #waitingBytes = 0;
  /** Total number of bytes in all full chunks. */
  #filledBytes = 0;

  constructor(chunkBytes: number = usualChunkBytes) {
    this.#chunkBytes = chunkBytes;
    this.#spare = chunkBytes === usualChunkBytes ? usualSpare : [];
  }

  /** Number of bytes written so far. */
  get totalBytes(): number {
    return this.#filledBytes + this.at;
  }

  /** Total size in bytes of the chunks that `take` can return. */
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

  /** Ensures that the current chunk has space for this number of bytes. */
  reserve(bytes: number): void {
    if (bytes > this.buffer.length - this.at) this.#nextChunk(Math.max(bytes, this.#chunkBytes));
  }

  /** Removes and returns the oldest finished chunk, or returns undefined if there is none. */
  take(): Buffer | undefined {
    const chunk = this.#waiting.shift();
    if (chunk !== undefined) this.#waitingBytes -= chunk.length;
    return chunk;
  }

  /** Finishes the current chunk even if it is not full. */
  flush(): void {
    if (this.at === 0) return;
    this.#endChunk();
    this.buffer = noBuffer;
  }

  /** Makes a chunk's memory available for reuse. After this call, the caller must not use the chunk. */
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
