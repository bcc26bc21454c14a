/**
 * Writes one data file (a part): encodes, compresses and uploads its rows. To limit memory use, callers should wait for
 * `drained` between rows. After a failure, every call throws the error.
 */
import { createHash } from 'node:crypto';
import { ByteSpool, usualChunkBytes } from './byte-spool.ts';
import { type Compression, type Packer, packerOf } from './compression.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

/** Receives the bytes of one data file, for example to upload them. */
export interface PartSink {
  /** Writes a chunk. The caller waits for the promise before the next call, and then reuses the chunk's memory. */
  write(chunk: Uint8Array): Promise<void>;
  /** Ends the file. When the promise resolves, the file is complete and durable. */
  finish(): Promise<void>;
  /** Removes everything that has been written to the file. */
  abort(): Promise<void>;
}

export interface PartOptions {
  readonly encoder: (spool: ByteSpool) => RowEncoder;
  readonly compression: Compression;
  /** Creates the file at the destination. Called when the first bytes of the file are available. */
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
  /** SHA-256 of the file in hexadecimal. */
  readonly sha256: string;
  /** Number of values that do not match the type of their column. */
  readonly misfits: number;
}

/**
 * Maximum number of bytes that are waiting to be written. While more bytes are waiting, callers should not add rows.
 */
const maxWaitingBytes = 512 * 1024;
/** Minimum length of a chunk in bytes. */
const minChunkBytes = 4 * 1024;

export class PartWriter {
  readonly #spool: ByteSpool;
  readonly #encoder: RowEncoder;
  readonly #options: PartOptions;
  readonly #packer: Packer;
  readonly #hash = createHash('sha256');
  /** Resolves when all chunks passed to the compressor have been written to the sink. */
  #written = Promise.resolve();
  /** Number of chunks passed to the compressor that have not yet been written to the sink. */
  #running = 0;
  #sink: PartSink | undefined;
  #rows = 0;
  /** Total size, in bytes before compression, of the chunks that have been written to the sink. */
  #packedBytes = 0;
  #bytes = 0;
  #ended: Promise<PartSummary> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(options: PartOptions) {
    this.#options = options;
    this.#spool = new ByteSpool(Math.min(usualChunkBytes, Math.max(minChunkBytes, options.maxPartBytes)));
    this.#encoder = options.encoder(this.#spool);
    this.#packer = packerOf(options.compression);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Estimated size of the file in bytes, based on the compression ratio of earlier rows. */
  get bytes(): number {
    const unpackedBytes = this.#spool.totalBytes - this.#packedBytes + (this.#encoder.heldBytes ?? 0);
    return this.#bytes + unpackedBytes * (this.#packedBytes > 0 ? this.#bytes / this.#packedBytes : 1);
  }

  /** True if the file has reached its maximum size. */
  get isFull(): boolean {
    return this.#encoder.isFull === true || this.bytes >= this.#options.maxPartBytes;
  }

  /** Adds a row to the file. Throws if an earlier write has failed. */
  row(row: RawRow): void {
    if (this.#failure) throw this.#failure.error;
    this.#encoder.row(row);
    this.#rows++;
    if (this.#spool.waitingBytes > 0) this.#takeChunks();
  }

  /**
   * Returns a promise if too much data is waiting to be written. The caller must wait for the promise, which rejects if
   * a write fails.
   */
  drained(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#spool.waitingBytes <= maxWaitingBytes) return undefined;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  /** Writes all remaining rows, and finishes the file. If this fails, aborts the file and rejects. */
  end(): Promise<PartSummary> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  /** Abandons the file, and removes its data. If the removal fails, another process removes the data later (E15). */
  async abort(): Promise<void> {
    this.#fail(new DOMException('The data file was aborted.', 'AbortError'));
    await this.end().catch(() => {});
  }

  async #end(): Promise<PartSummary> {
    try {
      await this.#writeRest();
      await (await this.#opened()).finish();
    } catch (error) {
      this.#fail(error);
      await this.#written.catch(() => {});
      await this.#sink?.abort().catch(() => {});
      throw error;
    } finally {
      this.#packer.close();
    }
    return {
      rows: this.#rows,
      bytes: this.#bytes,
      encodedBytes: this.#spool.totalBytes,
      sha256: this.#hash.digest('hex'),
      misfits: this.#encoder.misfits ?? 0,
    };
  }

  async #writeRest(): Promise<void> {
    if (this.#failure) throw this.#failure.error;
    this.#encoder.end();
    this.#spool.flush();
    this.#takeChunks();
    while (this.#running > 0) await this.#written;
    await this.#pass(await this.#packer.end());
  }

  /** Passes waiting chunks to the compressor, as long as the compressor accepts another parallel call. */
  #takeChunks(): void {
    while (!this.#failure && this.#running < this.#packer.parallel) {
      const chunk = this.#spool.take();
      if (chunk === undefined) break;
      this.#running++;
      this.#written = this.#writeAfter(this.#written, chunk, this.#packer.pack(chunk));
      this.#written.catch((error) => this.#fail(error));
    }
    this.#resumeRows();
  }

  async #writeAfter(earlier: Promise<void>, chunk: Buffer, packed: Promise<readonly Uint8Array[]>): Promise<void> {
    const [chunks] = await Promise.all([packed, earlier]);
    await this.#pass(chunks);
    this.#packedBytes += chunk.length;
    this.#spool.recycle(chunk);
    this.#running--;
    this.#takeChunks();
  }

  async #pass(chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      if (this.#failure) throw this.#failure.error;
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
      await (await this.#opened()).write(chunk);
    }
  }

  async #opened(): Promise<PartSink> {
    this.#sink ??= await this.#options.open();
    return this.#sink;
  }

  #resumeRows(): void {
    if (this.#spool.waitingBytes > maxWaitingBytes) return;
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  #fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.#drained?.promise.catch(() => {});
    this.#drained?.reject(error);
    this.#drained = undefined;
  }
}
