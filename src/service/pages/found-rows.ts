/**
 * Rows of a page of messages (2.5) that `row-finder.ts` has found in one pass. They are passed on together, so that the sink can
 * write many rows at once without looking at each. Nearly all rows of a page are read this way.
 *
 * Invariant: a row in a batch equals the row read alone.
 */
import { assert } from '../../base/assert.ts';
import { isInteger, type PageRow, type PageRows, type RowFields, type RowSink, readDigits } from './page-row.ts';
import { entryLength, found, gapLength, maxFoundRows, RowFinder } from './row-finder.ts';

export class FoundRows implements PageRows {
  /** Number of rows in the current batch. */
  length = 0;
  readonly #finder = new RowFinder();
  readonly #row = new FoundRow(this);
  /** Message times in ms since the epoch, by entry of the finder's table. */
  readonly #messageTimesMs = new Float64Array(maxFoundRows);
  readonly #receiptTimesMs = new Float64Array(maxFoundRows);
  /** Message sizes, by entry of the finder's table. */
  readonly #sizes = new Float64Array(maxFoundRows);
  #page: Buffer = Buffer.alloc(0);
  /** First entry of the batch, and first entry after it. */
  #first = 0;
  #at = 0;
  #found = 0;

  /** Finds rows from `at` on, where a row must begin with `{`. */
  find(page: Buffer, at: number, end: number): void {
    this.#page = page;
    this.#found = this.#finder.find(page, at, end);
    this.#at = 0;
    this.length = 0;
  }

  /** Number of found rows that were neither taken nor skipped. */
  get left(): number {
    return this.#found - this.#at;
  }

  /** Start of the first row after the found ones. */
  get next(): number {
    return this.#finder.next;
  }

  /** Takes the leading rows that need no special handling and are at most `maxBytes` long. The batch can be empty. */
  take(maxBytes: number): void {
    this.#first = this.#at;
    while (this.#at < this.#found && this.#isRead(this.#at, maxBytes)) this.#at++;
    this.length = this.#at - this.#first;
  }

  /** Skips the next row, which needs special handling. Returns its position in the page. */
  pass(fields: RowFields): { readonly start: number; readonly end: number } {
    const { table } = this.#finder;
    const row = this.#at++;
    fields.take(table, row * entryLength);
    return { start: this.#place(row, found.row), end: this.#place(row, found.row + 1) };
  }

  /** Passes the batch to the sink, and reports the number of rows passed so far. */
  giveTo(sink: RowSink, tellGiven: (rows: number) => void): void {
    if (sink.run && this.length > 0) {
      sink.run(this);
      tellGiven(this.length);
      return;
    }
    for (let index = 0; index < this.length; index++) {
      sink.row(this.row(index));
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

  /** Message time of a row in ms since the epoch. */
  messageTimeMs(index: number): number {
    return this.#messageTimesMs[this.#first + index] as number;
  }

  /** Receipt time of a row in ms since the epoch. */
  receiptTimeMs(index: number): number {
    return this.#receiptTimesMs[this.#first + index] as number;
  }

  /** Size of a message, or undefined if the row has no `_size`. */
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
    // The number may have another form, such as an exponent.
    if (size < 0 && this.#hasText(row, found.size)) return false;
    const isId = isInteger(this.#page, this.#place(row, found.messageId), this.#place(row, found.messageId + 1));
    return messageTimeMs >= 0 && receiptTimeMs >= 0 && isId;
  }

  /** Whether the row has a non-empty value for the field. */
  #hasText(row: number, field: number): boolean {
    const { table } = this.#finder;
    const start = table[row * entryLength + field] as number;
    return start !== 0 && start !== table[row * entryLength + field + 1];
  }

  /** Number in a field, or -1 if it is missing or does not consist of digits only. */
  #number(row: number, field: number): number {
    return readDigits(this.#page, this.#place(row, field), this.#place(row, field + 1));
  }

  /** Position of a field of a row in the page. */
  #place(row: number, field: number): number {
    const { table, origin } = this.#finder;
    return origin + (table[row * entryLength + field] as number);
  }
}

/** View of one row, reused for all rows: a new object for each row would take longer than most uses of it. */
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

/** Shared instance for all pages. The rows of a page are passed on before the next page is read. */
export function sharedFoundRows(): FoundRows {
  shared ??= new FoundRows();
  return shared;
}

let shared: FoundRows | undefined;
