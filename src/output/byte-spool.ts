/**
 * Gathers bytes of any length into chunks of one length, which are given out in order and, when they have been used, come back to be
 * filled again. Writing rows of less than a kilobyte into memory that is fresh each time takes longer than the rows themselves.
 *
 * Invariant: what is given out is what was written, each byte once. A chunk is not touched between `take` and `recycle`.
 *
 * Leaves to others: how many chunks may wait.
 */

/** Small enough to stay in a processor's cache, large enough that handing it on costs nothing. */
export const usualChunkBytes: number = 512 * 1024;
/** So many chunks that came back are kept. */
const mostSpare = 4;
const noBuffer = Buffer.alloc(0);

export class ByteSpool {
  /**
   * The chunk that is being filled, up to `at`; empty until the first byte comes, so that an end of the file allocates nothing. Code that
   * writes into it reserves room first, and moves `at`.
   */
  buffer: Buffer = noBuffer;
  at = 0;
  readonly #chunkBytes: number;
  readonly #waiting: Buffer[] = [];
  readonly #spare: Buffer[] = [];
  #waitingBytes = 0;
  /** Of all chunks that were filled. */
  #filledBytes = 0;

  constructor(chunkBytes: number = usualChunkBytes) {
    this.#chunkBytes = chunkBytes;
  }

  /** Bytes written so far. */
  get totalBytes(): number {
    return this.#filledBytes + this.at;
  }

  /** Bytes in chunks that nobody has taken yet. */
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
      this.#pass(this.#chunkBytes);
    }
    this.buffer.set(from === 0 ? bytes : bytes.subarray(from), this.at);
    this.at += bytes.length - from;
  }

  appendByte(byte: number): void {
    if (this.at === this.buffer.length) this.#pass(this.#chunkBytes);
    this.buffer[this.at++] = byte;
  }

  /** Makes room for so many bytes in one piece behind `at`; the chunk before it may be shorter then, and this one longer. */
  reserve(bytes: number): void {
    if (bytes > this.buffer.length - this.at) this.#pass(Math.max(bytes, this.#chunkBytes));
  }

  /** The next chunk that is full, or that `flush` has ended. */
  take(): Buffer | undefined {
    const chunk = this.#waiting.shift();
    if (chunk !== undefined) this.#waitingBytes -= chunk.length;
    return chunk;
  }

  /** Gives out what is there, though it fills no chunk. */
  flush(): void {
    if (this.at === 0) return;
    this.#giveOut();
    this.buffer = this.#spare.pop() ?? noBuffer;
  }

  /** A chunk that was taken may be written over from now on. */
  recycle(chunk: Buffer): void {
    if (chunk.buffer.byteLength === this.#chunkBytes && this.#spare.length < mostSpare) {
      this.#spare.push(Buffer.from(chunk.buffer));
    }
  }

  #pass(nextBytes: number): void {
    this.#giveOut();
    const spare = nextBytes === this.#chunkBytes ? this.#spare.pop() : undefined;
    this.buffer = spare ?? Buffer.allocUnsafeSlow(nextBytes);
  }

  #giveOut(): void {
    if (this.at === 0) return;
    this.#waiting.push(this.buffer.subarray(0, this.at));
    this.#waitingBytes += this.at;
    this.#filledBytes += this.at;
    this.at = 0;
  }
}
