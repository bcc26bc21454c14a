/**
 * Reads a page of messages (2.5) while it arrives, and gives out each row as the bytes that it came as. No page is ever in memory: what is
 * kept from one chunk to the next is what the end of a chunk cuts, mostly a row, up to a limit.
 *
 * Invariant: rows, values, and the byte at which a page is found wrong are the same however it is cut into chunks, but for where a
 * limit is passed. Rows that were given out before that byte are good. What a page is made of is left to `page-content.ts`, where
 * the bytes come from and what becomes of the rows to others.
 */
import { PageContent, type PageLimits } from './page-content.ts';
import type { PageField } from './page-field.ts';
import type { RowTaker } from './page-row.ts';

/** What a page says beside its rows. */
export interface PageEnd {
  readonly rows: number;
  readonly warning: string | undefined;
  readonly fields: readonly PageField[];
  /** Length of the page. */
  readonly bytes: number;
}

const mebibyte = 1024 * 1024;
const usualLimits: PageLimits = { maxRowBytes: 16 * mebibyte, maxDepth: 256 };

/** Some put it in front of UTF-8. It is no JSON, and means nothing. */
const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);
/** What was cut is first tried with so many bytes of the next chunk: mostly enough, and little to copy. */
const leastPieceBytes = 4096;

export class PageScanner {
  readonly #content: PageContent;
  /** What the end of a chunk cut, and how long it is. */
  #carry: Buffer = Buffer.alloc(0);
  #carried = 0;
  /** Bytes of all chunks before this one. */
  #received = 0;
  /** How much of a byte order mark has come; all of it where there is none. */
  #marked = 0;
  #failure: { readonly error: unknown } | undefined;

  /** The taker is called from within `write`. What it throws `write` throws, and the scanner is of no more use. */
  constructor(taker: RowTaker, limits: Partial<PageLimits> = {}) {
    this.#content = new PageContent(taker, { ...usualLimits, ...limits });
  }

  /** Rows given out so far; while one is given out, those before it. After a break the page is to be continued behind them. */
  get rows(): number {
    return this.#content.rows;
  }

  /** Takes the next bytes of the page. They may be written over afterwards. Throws a `PageError` where they can be of no page. */
  write(chunk: Uint8Array): void {
    if (this.#failure) throw this.#failure.error;
    try {
      this.#scan(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** To be called after the last byte. Throws a `PageError` where the page is not whole. */
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
   * Puts bytes of the chunk from `at` on behind what was cut, as many again, and reads on until that is whole. Returns how many bytes of
   * the chunk are done with.
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
