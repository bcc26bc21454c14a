/**
 * Writes one part, the file of a piece of an export: rows → encoder → compressor → sink. Rows are taken at once; packing and writing go on
 * beside them, and `room` tells who brings rows to wait.
 *
 * Invariant: a part counts every row that it took, and its SHA-256 is of the bytes that the sink got, in that order. Once something
 * failed nothing more is written, and everybody who asks gets that error.
 *
 * Leaves to others: where parts stand, how they are named, and which rows belong together.
 */
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { ByteSpool, usualChunkBytes } from './byte-spool.ts';
import { type Compression, compressorOf } from './compression.ts';
import type { RawRow, RawRows, RowEncoder } from './row-encoder.ts';

/** Where the bytes of one part go. */
export interface PartSink {
  /** Never called before the promise of the last call is fulfilled. The chunk may be written over after that. */
  write(chunk: Uint8Array): Promise<void>;
  /** After the last byte: the part is there, and stays. */
  finish(): Promise<void>;
  /** Leaves nothing behind. */
  abort(): Promise<void>;
}

export interface PartOptions {
  readonly encoder: (spool: ByteSpool) => RowEncoder;
  readonly compression: Compression;
  /** Called once, when there are bytes to write. */
  readonly open: () => Promise<PartSink>;
  /** A part of so many bytes is full. */
  readonly maxPartBytes: number;
}

export interface PartSummary {
  readonly rows: number;
  /** Length of the file. */
  readonly bytes: number;
  /** What it was before compression. */
  readonly encodedBytes: number;
  /** Of the file, in hexadecimal digits. */
  readonly sha256: string;
  /** Values that were not what their column holds (`RowEncoder.misfits`). */
  readonly misfits: number;
}

/** With so many bytes waiting there is no room for more rows. */
const mostWaitingBytes = 512 * 1024;
/** A part that is smaller than a usual chunk has chunks of its own size, but at least of this one. */
const leastChunkBytes = 4 * 1024;

export class PartWriter {
  readonly #spool: ByteSpool;
  readonly #encoder: RowEncoder;
  readonly #options: PartOptions;
  readonly #hash = createHash('sha256');
  readonly #written: Promise<void>;
  #sink: PartSink | undefined;
  #rows = 0;
  /** What came from the encoder on its way to the sink, and what the sink got. */
  #takenBytes = 0;
  #bytes = 0;
  #hasEnded = false;
  #failure: { readonly error: unknown } | undefined;
  /** Ends the wait for a chunk; undefined while nobody waits. */
  #endWait: (() => void) | undefined;
  #room: PromiseWithResolvers<void> | undefined;

  constructor(options: PartOptions) {
    this.#options = options;
    this.#spool = new ByteSpool(Math.min(usualChunkBytes, Math.max(leastChunkBytes, options.maxPartBytes)));
    this.#encoder = options.encoder(this.#spool);
    this.#written = this.#write();
    this.#written.catch(() => {});
  }

  get rows(): number {
    return this.#rows;
  }

  /** Length of the file so far, where what is held back or not packed yet is taken to become as short as what is. */
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

  /** Takes a row. Throws what went wrong in writing those before it. */
  row(row: RawRow): void {
    if (this.#failure) throw this.#failure.error;
    this.#encoder.row(row);
    this.#rows++;
    if (this.#spool.waitingBytes > 0) this.#wake();
  }

  /**
   * Takes rows from the one at `from` on, at least one and none from `to` on: those that go into this part. Returns where it stopped. Throws
   * as `row`.
   */
  run(rows: RawRows, from: number, to: number): number {
    if (!this.#encoder.lines) {
      this.row({ bytes: rows.bytes(from) });
      return from + 1;
    }
    if (this.#failure) throw this.#failure.error;
    const end = this.#endOfFitting(rows, from, to);
    this.#encoder.lines(rows.lines(from, end));
    this.#rows += end - from;
    if (this.#spool.waitingBytes > 0) this.#wake();
    return end;
  }

  /** A promise while too much is waiting to be written, fulfilled when there is room again; rejects when writing failed. */
  room(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#spool.waitingBytes <= mostWaitingBytes) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Writes what is left and finishes the file. Rejects with what went wrong; the sink is aborted then. */
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

  /** Gives the part up, and is fulfilled when the sink is done with it. What a sink cannot remove is left to a later start (protocol E15). */
  async abort(): Promise<void> {
    this.#fail(new DOMException('The part was given up.', 'AbortError'));
    await this.#written.catch(() => {});
  }

  /** The one that fills the part is the last, if none of them becomes shorter. */
  #endOfFitting(rows: RawRows, from: number, to: number): number {
    const room = this.#options.maxPartBytes - this.bytes;
    if (rows.linesLength(from, to) <= room) return to;
    let end = from + 1;
    while (end < to && rows.linesLength(from, end) < room) end++;
    return end;
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

  /** What the encoder wrote. When the next chunk is asked for, the one before it has been used up. */
  async *#chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      const chunk = this.#spool.take();
      if (chunk !== undefined) {
        this.#takenBytes += chunk.length;
        this.#makeRoom();
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

  #makeRoom(): void {
    if (this.#spool.waitingBytes > mostWaitingBytes) return;
    this.#room?.resolve();
    this.#room = undefined;
  }

  /** When there may be a chunk, or no more of them. */
  #wake(): void {
    const endWait = this.#endWait;
    // Rows come by the hundred thousand a second, and to fulfil a promise again costs more than a row.
    this.#endWait = undefined;
    endWait?.();
  }

  #fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.#room?.promise.catch(() => {});
    this.#room?.reject(error);
    this.#room = undefined;
    this.#wake();
  }
}
