/**
 * Writes one part, that is, one file of an interval: rows → encoder → compressor → sink. Rows are accepted immediately, while
 * compression and writing run in parallel. `drained` tells callers when to wait.
 *
 * Invariant: a part counts every accepted row, and its SHA-256 covers the bytes that the sink received, in order. After a failure
 * nothing more is written, and all calls report that error.
 *
 * Callers decide names and places of parts, and which rows belong together.
 */
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { ByteSpool, usualChunkBytes } from './byte-spool.ts';
import { type Compression, compressorOf } from './compression.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

/** Destination of the bytes of one part. */
export interface PartSink {
  /** Writes a chunk. Calls do not overlap. The memory of the chunk is reused after the promise is fulfilled. */
  write(chunk: Uint8Array): Promise<void>;
  /** Called after the last byte. Afterwards the part is durable. */
  finish(): Promise<void>;
  /** Removes everything that was written. */
  abort(): Promise<void>;
}

export interface PartOptions {
  readonly encoder: (spool: ByteSpool) => RowEncoder;
  readonly compression: Compression;
  /** Called once, when the first bytes are available. */
  readonly open: () => Promise<PartSink>;
  /** Size in bytes at which a part is full. */
  readonly maxPartBytes: number;
}

export interface PartSummary {
  readonly rows: number;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** Size before compression. */
  readonly encodedBytes: number;
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly sha256: string;
  /** Number of values that do not have their column's type (`RowEncoder.misfits`). */
  readonly misfits: number;
}

/** Number of waiting bytes at which no more rows are accepted. */
const maxWaitingBytes = 512 * 1024;
/** Minimum length of a chunk. A part that is smaller than a usual chunk uses shorter chunks. */
const minChunkBytes = 4 * 1024;

export class PartWriter {
  readonly #spool: ByteSpool;
  readonly #encoder: RowEncoder;
  readonly #options: PartOptions;
  readonly #hash = createHash('sha256');
  readonly #written: Promise<void>;
  #sink: PartSink | undefined;
  #rows = 0;
  /** Number of bytes taken from the encoder, and number of bytes that the sink received. */
  #takenBytes = 0;
  #bytes = 0;
  #hasEnded = false;
  #failure: { readonly error: unknown } | undefined;
  /** Ends the wait for a chunk. Undefined if nothing waits. */
  #endWait: (() => void) | undefined;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(options: PartOptions) {
    this.#options = options;
    this.#spool = new ByteSpool(Math.min(usualChunkBytes, Math.max(minChunkBytes, options.maxPartBytes)));
    this.#encoder = options.encoder(this.#spool);
    this.#written = this.#write();
    this.#written.catch(() => {});
  }

  get rows(): number {
    return this.#rows;
  }

  /** Estimated size of the file so far. Bytes that are held back or not yet compressed count with the compression ratio so far. */
  get bytes(): number {
    const unpackedBytes = this.#spool.totalBytes - this.#takenBytes + this.#encoder.heldBytes;
    const isPacked = this.#options.compression.kind !== 'none' && this.#bytes > 0;
    const ratio = isPacked ? this.#bytes / this.#takenBytes : 1;
    return (isPacked ? this.#bytes : this.#takenBytes) + unpackedBytes * ratio;
  }

  /** Whether the next row should go into another part. */
  get isFull(): boolean {
    return this.#encoder.isFull === true || this.bytes >= this.#options.maxPartBytes;
  }

  /** Accepts a row. Throws the error of earlier writes. */
  row(row: RawRow): void {
    if (this.#failure) throw this.#failure.error;
    this.#encoder.row(row);
    this.#rows++;
    if (this.#spool.waitingBytes > 0) this.#wake();
  }

  /** Returns a promise while too much data waits to be written, fulfilled when there is space. Rejects when writing failed. */
  drained(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#spool.waitingBytes <= maxWaitingBytes) return undefined;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  /** Writes the remaining data and finishes the file. Rejects with the error of writing, and then aborts the sink. */
  async end(): Promise<PartSummary> {
    if (!this.#failure) {
      this.#encoder.end();
      this.#spool.flush();
    }
    this.#hasEnded = true;
    this.#wake();
    await this.#written;
    return {
      rows: this.#rows,
      bytes: this.#bytes,
      encodedBytes: this.#spool.totalBytes,
      sha256: this.#hash.digest('hex'),
      misfits: this.#encoder.misfits,
    };
  }

  /** Aborts the part. Resolves when the sink has removed its data. Data that it cannot remove is left to a later start (E15). */
  async abort(): Promise<void> {
    this.#fail(new DOMException('The part was given up.', 'AbortError'));
    await this.#written.catch(() => {});
  }

  async #write(): Promise<void> {
    const compressor = compressorOf(this.#options.compression);
    try {
      if (compressor)
        await pipeline(this.#chunks(), compressor, (packed: AsyncIterable<Uint8Array>) => this.#pass(packed));
      else await this.#pass(this.#chunks());
      await (await this.#opened()).finish();
    } catch (error) {
      this.#fail(error);
      await this.#sink?.abort().catch(() => {});
      throw error;
    }
  }

  async #pass(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of chunks) {
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
      await (await this.#opened()).write(chunk);
    }
  }

  async #opened(): Promise<PartSink> {
    this.#sink ??= await this.#options.open();
    return this.#sink;
  }

  /** Yields the chunks of the encoder. Each request for a chunk means that the one before has been consumed. */
  async *#chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      const chunk = this.#spool.take();
      if (chunk !== undefined) {
        this.#takenBytes += chunk.length;
        this.#resumeRows();
        yield chunk;
        this.#spool.recycle(chunk);
      } else if (this.#hasEnded) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#endWait = resolve;
        });
      }
    }
  }

  #resumeRows(): void {
    if (this.#spool.waitingBytes > maxWaitingBytes) return;
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  /** Called when a chunk may be available or all chunks are done. */
  #wake(): void {
    const endWait = this.#endWait;
    // Hundreds of thousands of rows arrive per second, and resolving a promise again costs more than a row.
    this.#endWait = undefined;
    endWait?.();
  }

  #fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.#drained?.promise.catch(() => {});
    this.#drained?.reject(error);
    this.#drained = undefined;
    this.#wake();
  }
}
