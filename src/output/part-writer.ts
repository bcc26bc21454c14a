/**
 * Writes one data file of an interval (a part). The rows pass through an encoder and a compressor to a sink, such as an upload. The writer
 * accepts rows immediately, and compresses and writes in parallel. `drained` tells callers when to wait.
 *
 * Invariant: a part counts every accepted row, and its SHA-256 covers the bytes that the sink received, in order. After a failure nothing
 * more is written, and all calls report the error.
 *
 * Callers choose the names and places of parts, and the rows of each part.
 */
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { ByteSpool, usualChunkBytes } from './byte-spool.ts';
import { type Compression, compressorOf } from './compression.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

/** Destination of the bytes of one part (data file), such as an upload. */
export interface PartSink {
  /** Writes a chunk. Calls do not overlap. The memory of the chunk is reused after the promise is fulfilled. */
  write(chunk: Uint8Array): Promise<void>;
  /** Ends the file after its last byte. When the promise resolves, the file is durable. */
  finish(): Promise<void>;
  /** Removes everything that was written to the file. */
  abort(): Promise<void>;
}

export interface PartOptions {
  readonly encoder: (spool: ByteSpool) => RowEncoder;
  readonly compression: Compression;
  /** Opens the sink of the part. Called once, when the first bytes are available. */
  readonly open: () => Promise<PartSink>;
  /** Size in bytes at which a part is full. */
  readonly maxPartBytes: number;
}

export interface PartSummary {
  readonly rows: number;
  /** Size of the finished file in bytes. */
  readonly bytes: number;
  /** Size of the file in bytes before compression. */
  readonly encodedBytes: number;
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly sha256: string;
  /** Number of values that do not have the type of their column (`RowEncoder.misfits`). */
  readonly misfits: number;
}

/** Number of bytes that may wait to be written. When more bytes wait, the caller should not pass more rows. */
const maxWaitingBytes = 512 * 1024;
/** Minimum length of a chunk in bytes, for parts that are smaller than a usual chunk. */
const minChunkBytes = 4 * 1024;

export class PartWriter {
  readonly #spool: ByteSpool;
  readonly #encoder: RowEncoder;
  readonly #options: PartOptions;
  readonly #hash = createHash('sha256');
  readonly #written: Promise<void>;
  #sink: PartSink | undefined;
  #rows = 0;
  /** Number of the encoder's bytes that the compressor has already taken. */
  #takenBytes = 0;
  #bytes = 0;
  #hasEnded = false;
  #failure: { readonly error: unknown } | undefined;
  /** Callback that tells the waiting compressor that a new chunk is available. Undefined if the compressor does not wait. */
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

  /** Estimated size of the file in bytes. For rows that are not compressed yet, the compression ratio of the earlier rows is assumed. */
  get bytes(): number {
    const unpackedBytes = this.#spool.totalBytes - this.#takenBytes + (this.#encoder.heldBytes ?? 0);
    const isPacked = this.#options.compression.kind !== 'none' && this.#bytes > 0;
    const ratio = isPacked ? this.#bytes / this.#takenBytes : 1;
    return (isPacked ? this.#bytes : this.#takenBytes) + unpackedBytes * ratio;
  }

  /** True if the part has reached its maximum size, so that the next row belongs in another part. */
  get isFull(): boolean {
    return this.#encoder.isFull === true || this.bytes >= this.#options.maxPartBytes;
  }

  /** Accepts a row for this part. Throws the error of an earlier write. */
  row(row: RawRow): void {
    if (this.#failure) throw this.#failure.error;
    this.#encoder.row(row);
    this.#rows++;
    if (this.#spool.waitingBytes > 0) this.#wake();
  }

  /** Returns a promise if too much data waits to be written. The promise is fulfilled when there is space, and rejected if writing fails. */
  drained(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#spool.waitingBytes <= maxWaitingBytes) return undefined;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  /** Writes the remaining rows of the part and finishes its file. If writing fails, aborts the sink and rejects with the error. */
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
      misfits: this.#encoder.misfits ?? 0,
    };
  }

  /**
   * Aborts the part, and resolves when the sink has removed its data. If the sink cannot remove the data, a later start of logfleet removes
   * it (E15).
   */
  async abort(): Promise<void> {
    this.#fail(new DOMException('The data file was aborted.', 'AbortError'));
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

  /** Yields the chunks of the encoder. A request for the next chunk means that the previous chunk was consumed. */
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

  /** Wakes the compressor if it waits for a chunk. Called when a chunk may be available or the last chunk was written. */
  #wake(): void {
    const endWait = this.#endWait;
    // The callback must be called only once for each wait. Hundreds of thousands of rows arrive per second, and resolving an
    // already resolved promise costs more than handling a row.
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
