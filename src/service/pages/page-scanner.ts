/**
 * Reads a page of messages (section 2.5 of docs/service.md) while it arrives, and passes on each row as its original
 * bytes. Only an incomplete row stays in memory. Rows before an error are valid.
 */
import { PageContent, type PageLimits } from './page-content.ts';
import type { PageField } from './page-field.ts';
import type { RowSink } from './page-row.ts';

/** Content of a page except its rows. */
export interface PageEnd {
  readonly rows: number;
  readonly warning: string | undefined;
  readonly fields: readonly PageField[];
  /** Size of the page of messages in bytes. */
  readonly bytes: number;
}

const mebibyte = 1024 * 1024;
const usualLimits: PageLimits = { maxRowBytes: 16 * mebibyte, maxDepth: 256 };

/** Byte order mark, which the scanner ignores at the start of a page. */
const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);
/** Minimum number of bytes that are appended at a time to an incomplete row. */
const leastPieceBytes = 4096;

export class PageScanner {
  readonly #content: PageContent;
  /** Row or text that was incomplete at the end of the last chunk. `#carried` is its length in bytes. */
  #carry: Buffer = Buffer.alloc(0);
  #carried = 0;
  /** Number of bytes before the current chunk. */
  #received = 0;
  /** Number of bytes of the byte order mark that were received so far. */
  #marked = 0;
  #failure: { readonly error: unknown } | undefined;

  /**
   * Do not use the scanner after an error.
   * @param sink receives each row; an error that it throws reaches the caller of `write`
   */
  constructor(sink: RowSink, limits: Partial<PageLimits> = {}) {
    this.#content = new PageContent(sink, { ...usualLimits, ...limits });
  }

  /** Number of rows that `sink` has received. After an error, request the rows that follow them in another page. */
  get rows(): number {
    return this.#content.rows;
  }

  /** Processes the next bytes, whose memory may be reused afterwards. Throws a `PageError` for an invalid page. */
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
    const content = this.#content;
    content.end(this.#received);
    return { rows: content.rows, ...content.rest, bytes: this.#received };
  }

  #scan(chunk: Buffer): void {
    let at = this.#skipMark(chunk);
    while (this.#carried > 0 && at < chunk.length) at += this.#scanCarry(chunk, at);
    if (at < chunk.length) {
      this.#content.take(chunk, at, chunk.length, this.#received);
      this.#content.read(false);
      this.#carryOver(chunk);
    }
    this.#received += chunk.length;
  }

  #skipMark(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length && this.#marked < byteOrderMark.length) {
      if (chunk[at] === byteOrderMark[this.#marked]) {
        this.#marked++;
        at++;
      } else if (this.#marked === 0) {
        this.#marked = byteOrderMark.length;
      } else {
        throw this.#content.error(this.#received + at, 'expected the rest of a byte order mark');
      }
    }
    return at;
  }

  /**
   * Completes the row or text that began in an earlier chunk. Returns the number of bytes that it used from this chunk.
   */
  #scanCarry(chunk: Buffer, at: number): number {
    const carried = this.#carried;
    const added = Math.min(chunk.length - at, Math.max(carried, leastPieceBytes));
    this.#reserve(carried + added);
    chunk.copy(this.#carry, carried, at, at + added);
    this.#content.take(this.#carry, carried, carried + added, this.#received + at - carried);
    this.#content.read(true);
    if (this.#content.heldFrom() < 0) {
      this.#carried = 0;
      return this.#content.at - carried;
    }
    this.#carried = carried + added;
    this.#content.checkLength(0, this.#carried);
    return added;
  }

  #carryOver(chunk: Buffer): void {
    const from = this.#content.heldFrom();
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
