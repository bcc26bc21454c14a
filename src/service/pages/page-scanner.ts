/**
 * Reads a page of messages (section 2.5 of docs/service.md) as it arrives, and passes on each row as its original
 * bytes. Only an incomplete row is kept in memory. Rows passed on before an error are valid.
 */
import { JsonReader, type Reading } from '../json/json-reader.ts';
import { PageContent } from './page-content.ts';
import type { PageField } from './page-field.ts';
import type { RowSink } from './page-row.ts';

/** Content of a page, except its rows. */
export interface PageEnd {
  readonly rows: number;
  readonly warning: string | undefined;
  readonly fields: readonly PageField[];
  /** Size of the page of messages in bytes. */
  readonly bytes: number;
}

export interface PageLimits {
  /** Maximum size in bytes of a row, or of any other text on a page. */
  readonly maxRowBytes: number;
  /** Maximum depth of nested objects and arrays. */
  readonly maxDepth: number;
}

const mebibyte = 1024 * 1024;
const usualLimits: PageLimits = { maxRowBytes: 16 * mebibyte, maxDepth: 256 };

/** Minimum number of bytes to append to an incomplete row at a time, if the chunk still has that many bytes. */
const minPieceBytes = 4096;

export class PageScanner {
  readonly #reader: JsonReader;
  readonly #content: PageContent;
  readonly #reading: Reading<never>;
  /** Row or string that was incomplete at the end of the last chunk. `#carried` is its length in bytes. */
  #carry: Buffer = Buffer.alloc(0);
  #carried = 0;
  /** Number of bytes before the current chunk. */
  #received = 0;
  #failure: { readonly error: unknown } | undefined;

  /**
   * The scanner must not be used after an error.
   * @param sink receives each row; an error that it throws reaches the caller of `write`
   */
  constructor(sink: RowSink, limits: Partial<PageLimits> = {}) {
    const { maxRowBytes, maxDepth } = { ...usualLimits, ...limits };
    this.#reader = new JsonReader(maxDepth, (offset, problem) => this.#content.error(offset, problem));
    this.#content = new PageContent(sink, this.#reader, maxRowBytes);
    this.#reading = this.#content.read();
  }

  /** Number of rows that `sink` has received. After an error, the remaining rows must be requested as another page. */
  get rows(): number {
    return this.#content.rows;
  }

  /**
   * Processes the next bytes, whose memory may be reused after the call. Throws a `PageError` if the page is invalid.
   */
  write(chunk: Uint8Array): void {
    if (this.#failure) throw this.#failure.error;
    try {
      this.#scan(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** Must be called after the last byte of the page. Throws a `PageError` if the page is incomplete. */
  end(): PageEnd {
    if (this.#failure) throw this.#failure.error;
    const { rows, warning, fields } = this.#content;
    const { isDone, expected } = this.#reader;
    if (!isDone) throw this.#content.error(this.#received, `expected ${expected}, found the end of the page`);
    return { rows, warning, fields, bytes: this.#received };
  }

  #scan(chunk: Buffer): void {
    let at = 0;
    while (this.#carried > 0 && at < chunk.length) at += this.#scanCarry(chunk, at);
    if (this.#carried === 0) this.#scanChunk(chunk, at);
    this.#received += chunk.length;
  }

  /** Continues the row or string that began in an earlier chunk. Returns the number of bytes used from this chunk. */
  #scanCarry(chunk: Buffer, at: number): number {
    const carried = this.#carried;
    const added = Math.min(chunk.length - at, Math.max(carried, minPieceBytes));
    const length = carried + added;
    this.#reserve(length);
    chunk.copy(this.#carry, carried, at, at + added);
    this.#reader.take(this.#carry, carried, length, this.#received + at - carried);
    this.#reading.next();
    // If bytes from index 0 must be kept, the row or string from the earlier chunk is still incomplete. A row or string
    // that begins later needs no bytes from earlier chunks, because it begins in this chunk.
    const isIncomplete = this.#reader.kept === 0;
    if (isIncomplete) this.#content.checkLength(0, length);
    this.#carried = isIncomplete ? length : 0;
    return added;
  }

  #scanChunk(chunk: Buffer, at: number): void {
    this.#reader.take(chunk, at, chunk.length, this.#received);
    if (at < chunk.length) this.#reading.next();
    const from = this.#reader.kept;
    if (from < 0) return;
    this.#content.checkLength(from, chunk.length);
    this.#reserve(chunk.length - from);
    chunk.copy(this.#carry, 0, from);
    this.#carried = chunk.length - from;
  }

  #reserve(length: number): void {
    if (length <= this.#carry.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#carry.length));
    this.#carry.copy(larger, 0, 0, this.#carried);
    this.#carry = larger;
  }
}
