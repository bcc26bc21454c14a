/**
 * One row of a page of messages (2.5). The id and times of the message are found in the bytes of the row, which stay unchanged.
 *
 * Depending on the deployment, the service writes field names with different upper and lower case. All values are strings, even
 * numbers. If a field occurs twice in a row, the last one counts, as with JSON.parse. A row without a valid time or id is an
 * error (E9).
 */
import { char } from '../../base/json-bytes.ts';
import { type Token, token } from '../json/json-reader.ts';

export interface PageRow {
  /**
   * Bytes of the row from `{` to `}`, as the service sent them. Valid only during the call, because the memory is reused.
   */
  readonly bytes: Uint8Array;
  /** Message time (`_messagetime`) of the row in ms since the epoch. */
  readonly messageTimeMs: number;
  /** Id of the message (`_messageid`), a signed 64-bit decimal. The text is valid only during the call. */
  readonly messageId: string;
  /** Receipt time (`_receipttime`) of the message in ms since the epoch; undefined if absent, `null` or `""`. */
  readonly receiptTimeMs: number | undefined;
  /** Number of bytes of the message (`_size`); undefined if absent or not an integer. */
  readonly size?: number | undefined;
}

/** Receives the rows of a page in order. An error that the receiver throws reaches the caller of `write`. */
export interface RowSink {
  row(row: PageRow): void;
}

/** Creates the error for an invalid row. `at` is the index of the invalid byte. */
export type ComplainOfRow = (at: number, problem: string) => Error;

/** Kind and position of a field's value in a row. The position counts from the start of the row and includes quotes. */
export class FieldValue {
  readonly name: string;
  readonly expected: string;
  /** Kind of the value; `more` if the field was not found in the row. */
  kind: Token = token.more;
  start = 0;
  end = 0;

  constructor(name: string, expected: string) {
    this.name = name;
    this.expected = expected;
  }

  /** Sets the kind and position of the value. For an object or array, the position covers only the first byte. */
  set(kind: Token, start: number, end: number): void {
    this.kind = kind;
    this.start = start;
    this.end = end;
  }

  /** Whether the field is absent, `null`, or `""`. The service writes missing values as `""`. */
  get isAbsent(): boolean {
    const isEmpty = this.kind === token.string && this.end - this.start === 2;
    return isEmpty || this.kind === token.null || this.kind === token.more;
  }

  /**
   * Returns the text of a string or the digits of a number; undefined for other values. Decodes only ASCII, which is
   * sufficient for ids, times and sizes.
   */
  text(bytes: Buffer, row: number): string | undefined {
    const value = bytes.toString('latin1', row + this.start, row + this.end);
    if (this.kind === token.number) return value;
    return this.kind === token.string ? (JSON.parse(value) as string) : undefined;
  }

  complaint(row: number, rowEnd: number, complain: ComplainOfRow): Error {
    if (this.kind === token.more) return complain(rowEnd - 1, `expected a member ${this.name}, found none`);
    const found = this.isAbsent ? 'nothing' : 'something else';
    return complain(row + this.start, `${this.name}: expected ${this.expected}, found ${found}`);
  }
}

/**
 * Row that was read field by field. The message id is decoded only on request, because decoding takes as long as
 * reading the rest of the row.
 */
class ReadRow implements PageRow {
  readonly bytes: Uint8Array;
  readonly messageTimeMs: number;
  receiptTimeMs: number | undefined;
  size: number | undefined;
  readonly #id: Buffer;
  readonly #idStart: number;
  readonly #idEnd: number;

  /**
   * The message id is stored in `id`, from index `idStart` to `idEnd`. Usually `id` is the buffer of the row, so
   * nothing is copied.
   */
  constructor(bytes: Uint8Array, messageTimeMs: number, id: Buffer, idStart: number, idEnd: number) {
    this.bytes = bytes;
    this.messageTimeMs = messageTimeMs;
    this.#id = id;
    this.#idStart = idStart;
    this.#idEnd = idEnd;
  }

  get messageId(): string {
    return this.#id.toString('latin1', this.#idStart, this.#idEnd);
  }
}

/** Positions of the known fields (id, times and size) in a row, from which `read` decodes their values. */
export class RowFields {
  readonly #messageTime = new FieldValue('_messagetime', 'milliseconds since the epoch');
  readonly #messageId = new FieldValue('_messageid', 'an integer of 64 bits');
  readonly #receiptTime = new FieldValue('_receipttime', 'milliseconds since the epoch');
  readonly #size = new FieldValue('_size', 'a number of bytes');
  readonly #all = [this.#messageTime, this.#messageId, this.#receiptTime, this.#size];

  begin(): void {
    for (const field of this.#all) field.kind = token.more;
  }

  /** Returns the field with this name, ignoring case. */
  named(bytes: Buffer, start: number, end: number): FieldValue | undefined {
    return this.#all.find(
      ({ name }) => name.length === end - start && bytes.toString('latin1', start, end).toLowerCase() === name,
    );
  }

  /** Decodes the row from `bytes[row]` to `end`. Throws an error of `complain` if a field is invalid. */
  read(bytes: Buffer, row: number, end: number, complain: ComplainOfRow): PageRow {
    const messageTimeMs = readInstant(this.#messageTime, bytes, row);
    if (messageTimeMs === undefined) throw this.#messageTime.complaint(row, end, complain);
    const read = this.#readId(bytes, row, end, messageTimeMs);
    if (read === undefined) throw this.#messageId.complaint(row, end, complain);
    read.receiptTimeMs = readInstant(this.#receiptTime, bytes, row);
    if (read.receiptTimeMs === undefined && !this.#receiptTime.isAbsent)
      throw this.#receiptTime.complaint(row, end, complain);
    read.size = readAmount(this.#size, bytes, row);
    return read;
  }

  /** Returns a row with its id, or undefined if the id is invalid. */
  #readId(bytes: Buffer, row: number, end: number, messageTimeMs: number): ReadRow | undefined {
    const { kind, start, end: valueEnd } = this.#messageId;
    const map = bytes.subarray(row, end);
    if (kind === token.string && isInteger(bytes, row + start + 1, row + valueEnd - 1)) {
      return new ReadRow(map, messageTimeMs, bytes, row + start + 1, row + valueEnd - 1);
    }
    const id = Buffer.from(this.#messageId.text(bytes, row) ?? '');
    return isInteger(id, 0, id.length) ? new ReadRow(map, messageTimeMs, id, 0, id.length) : undefined;
  }
}

/** Matches a number in a row. A number that a query has computed can have an exponent, as in `1.788E12`. */
const numberForm = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readInstant(field: FieldValue, bytes: Buffer, row: number): number | undefined {
  const plain = field.kind === token.string ? readDigits(bytes, row + field.start + 1, row + field.end - 1) : -1;
  if (plain >= 0) return plain;
  const text = field.text(bytes, row);
  const instantMs = text !== undefined && numberForm.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(instantMs) ? instantMs : undefined;
}

/** Reads a field of the row as an integer of at least 0. Returns undefined for any other value. */
function readAmount(field: FieldValue, bytes: Buffer, row: number): number | undefined {
  const amount = readInstant(field, bytes, row);
  return amount !== undefined && amount >= 0 ? amount : undefined;
}

/** Maximum number of digits that are read into a double, because doubles are exact up to 15 digits. */
const maxDigits = 15;

/**
 * Returns the number that the bytes contain, or -1 if they are not only digits. No string is created, because strings
 * would slow down the reading of every row.
 */
function readDigits(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > maxDigits || end === start) return -1;
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - char.zero;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number;
}

const largest = Buffer.from('9223372036854775807');
const smallest = Buffer.from('9223372036854775808');

/** Whether the bytes are a signed 64-bit integer. */
function isInteger(bytes: Uint8Array, start: number, end: number): boolean {
  const isNegative = bytes[start] === char.minus;
  const first = isNegative ? start + 1 : start;
  const most = isNegative ? smallest : largest;
  const digits = end - first;
  if (digits < 1 || digits > most.length) return false;
  let order = digits < most.length ? -1 : 0;
  for (let place = 0; place < digits; place++) {
    const byte = bytes[first + place] as number;
    if (byte < char.zero || byte > char.nine) return false;
    if (order === 0) order = byte - (most[place] as number);
  }
  return order <= 0;
}
