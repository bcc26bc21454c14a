/**
 * Rows of a page of messages (2.5) that were found at once (`row-finder.ts`) and are given out together: what takes them need not look at
 * the bytes of each, and writes many at a time. Nearly all rows of a page come this way.
 *
 * Invariant: a row that is among them is the same as if it came alone.
 */
import { assert } from '../base/assert.ts';
import { isInteger, type PageRow, type PageRows, type RowFields, type RowTaker, readDigits } from './page-row.ts';
import { entryLength, found, gapLength, mostRows, RowFinder } from './row-finder.ts';

export class FoundRows implements PageRows {
  /** Rows that were taken last. */
  length = 0;
  readonly #finder = new RowFinder();
  readonly #row = new FoundRow(this);
  /** ms since the epoch, by entry of the finder's table. */
  readonly #messageTimesMs = new Float64Array(mostRows);
  readonly #receiptTimesMs = new Float64Array(mostRows);
  /** By entry, too. */
  readonly #sizes = new Float64Array(mostRows);
  #page: Buffer = Buffer.alloc(0);
  /** Entry of the first row of those that were taken, and of the first one that was not. */
  #first = 0;
  #at = 0;
  #found = 0;

  /** Looks for rows from `at` on, where one has its `{`. */
  find(page: Buffer, at: number, end: number): void {
    this.#page = page;
    this.#found = this.#finder.find(page, at, end);
    this.#at = 0;
    this.length = 0;
  }

  /** Rows that were found and neither taken nor passed. */
  get left(): number {
    return this.#found - this.#at;
  }

  /** Where the row begins behind those that were found. */
  get next(): number {
    return this.#finder.next;
  }

  /** Takes those that can be read without care and are not longer: as far as the first one that cannot, which may be none. */
  take(maxBytes: number): void {
    this.#first = this.#at;
    while (this.#at < this.#found && this.#isRead(this.#at, maxBytes)) this.#at++;
    this.length = this.#at - this.#first;
  }

  /** Passes over the next one, to be read with care: where it begins and ends in the page. */
  pass(fields: RowFields): { readonly start: number; readonly end: number } {
    const { table } = this.#finder;
    const row = this.#at++;
    fields.take(table, row * entryLength);
    return { start: this.#place(row, found.row), end: this.#place(row, found.row + 1) };
  }

  /** Gives out those that were taken, and tells how many have been given. */
  giveTo(taker: RowTaker, tellGiven: (rows: number) => void): void {
    if (taker.run && this.length > 0) {
      taker.run(this);
      tellGiven(this.length);
      return;
    }
    for (let index = 0; index < this.length; index++) {
      taker.row(this.row(index));
      tellGiven(1);
    }
  }

  row(index: number): PageRow {
    assert(index < this.length, 'a row that was taken');
    this.#row.index = index;
    return this.#row;
  }

  bytes(index: number): Buffer {
    const row = this.#first + index;
    return this.#page.subarray(this.#place(row, found.row), this.#place(row, found.row + 1));
  }

  linesLength(from: number, to: number): number {
    const [first, last] = [this.#first + from, this.#first + to - 1];
    const length = this.#place(last, found.row + 1) - this.#place(first, found.row);
    return length - (last - first) * (gapLength - 1) + 1;
  }

  lines(from: number, to: number): Uint8Array {
    return this.#finder.lines(this.#first + from, this.#first + to);
  }

  /** ms since the epoch. */
  messageTimeMs(index: number): number {
    return this.#messageTimesMs[this.#first + index] as number;
  }

  /** ms since the epoch. */
  receiptTimeMs(index: number): number {
    return this.#receiptTimesMs[this.#first + index] as number;
  }

  /** Undefined where the row has no `_size`. */
  size(index: number): number | undefined {
    const size = this.#sizes[this.#first + index] as number;
    return size < 0 ? undefined : size;
  }

  messageId(index: number): string {
    const row = this.#first + index;
    return this.#page.toString('latin1', this.#place(row, found.messageId), this.#place(row, found.messageId + 1));
  }

  #isRead(row: number, maxBytes: number): boolean {
    if (this.#place(row, found.row + 1) - this.#place(row, found.row) > maxBytes) return false;
    const messageTimeMs = this.#number(row, found.messageTime);
    const receiptTimeMs = this.#number(row, found.receiptTime);
    this.#messageTimesMs[row] = messageTimeMs;
    this.#receiptTimesMs[row] = receiptTimeMs;
    const size = this.#number(row, found.size);
    this.#sizes[row] = size;
    // A number may be written otherwise, as with an exponent.
    if (size < 0 && this.#hasText(row, found.size)) return false;
    const isId = isInteger(this.#page, this.#place(row, found.messageId), this.#place(row, found.messageId + 1));
    return messageTimeMs >= 0 && receiptTimeMs >= 0 && isId;
  }

  /** Whether the row has the field, with a value that is not empty. */
  #hasText(row: number, field: number): boolean {
    const { table } = this.#finder;
    const start = table[row * entryLength + field] as number;
    return start !== 0 && start !== table[row * entryLength + field + 1];
  }

  /** -1 where it is not of digits alone, or missing. */
  #number(row: number, field: number): number {
    return readDigits(this.#page, this.#place(row, field), this.#place(row, field + 1));
  }

  /** Where something of a row stands in the page. */
  #place(row: number, field: number): number {
    const { table, origin } = this.#finder;
    return origin + (table[row * entryLength + field] as number);
  }
}

/** One for all rows: to make one for each takes longer than all that most of them are asked. */
class FoundRow implements PageRow {
  index = 0;
  readonly #rows: FoundRows;

  constructor(rows: FoundRows) {
    this.#rows = rows;
  }

  get bytes(): Uint8Array {
    return this.#rows.bytes(this.index);
  }

  get messageTimeMs(): number {
    return this.#rows.messageTimeMs(this.index);
  }

  get messageId(): string {
    return this.#rows.messageId(this.index);
  }

  get receiptTimeMs(): number {
    return this.#rows.receiptTimeMs(this.index);
  }

  get size(): number | undefined {
    return this.#rows.size(this.index);
  }

  get nextTimeMs(): number | undefined {
    const next = this.index + 1;
    return next < this.#rows.length ? this.#rows.messageTimeMs(next) : undefined;
  }
}

/** One for all pages: what it has found of one is given out before another one comes. */
export function sharedFoundRows(): FoundRows {
  shared ??= new FoundRows();
  return shared;
}

let shared: FoundRows | undefined;
