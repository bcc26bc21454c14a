/**
 * One row on a page of messages (section 2.5 of docs/service.md), with its original bytes. The service may write field
 * names in upper or lower case, and it writes all values as strings. A row without a valid time or id is an error (E9).
 */
import { char } from '../../base/json-bytes.ts';
import { latestDateMs } from '../../base/time-units.ts';
import type { JsonKind } from '../json/json-reader.ts';

export interface PageRow {
  /** Original bytes of the row. Valid only during the call. */
  readonly bytes: Uint8Array;
  /** Message time (`_messagetime`) in ms since the epoch. */
  readonly messageTimeMs: number;
  /** Message id (`_messageid`): a signed 64-bit integer in decimal. Valid only during the call. */
  readonly messageId: string;
  /** Receipt time (`_receipttime`) in ms since the epoch. Undefined if missing. */
  readonly receiptTimeMs: number | undefined;
  /** Size of the message (`_size`) in bytes. Undefined if missing or invalid. */
  readonly size?: number | undefined;
}

/** Receives the rows of a page in order. An error that the sink throws reaches the caller of `PageScanner.write`. */
export interface RowSink {
  row(row: PageRow): void;
}

/** Creates the error for an invalid row. `at` is the index of the invalid byte. */
export type ComplainOfRow = (at: number, problem: string) => Error;

/** Type and position of a field's value in a row. The position includes the quotes. */
export class FieldValue {
  readonly name: string;
  readonly expected: string;
  /** Type of the field's JSON value; undefined if the row does not contain the field. */
  kind: JsonKind | undefined;
  start = 0;
  end = 0;

  constructor(name: string, expected: string) {
    this.name = name;
    this.expected = expected;
  }

  /** Sets the type and position of the field's value. The position of an object or array is that of its first byte. */
  set(kind: JsonKind, start: number, end: number): void {
    this.kind = kind;
    this.start = start;
    this.end = end;
  }

  /** True if the field is absent, `null` or `""`. */
  get isAbsent(): boolean {
    const isEmpty = this.kind === 'string' && this.end - this.start === 2;
    return isEmpty || this.kind === 'null' || this.kind === undefined;
  }

  /**
   * Returns the text of a JSON string or the digits of a JSON number, which must be ASCII. Returns undefined for other
   * values.
   */
  text(bytes: Buffer, row: number): string | undefined {
    const value = bytes.toString('latin1', row + this.start, row + this.end);
    if (this.kind === 'number') return value;
    return this.kind === 'string' ? (JSON.parse(value) as string) : undefined;
  }

  complaint(row: number, rowEnd: number, complain: ComplainOfRow): Error {
    if (this.kind === undefined) return complain(rowEnd - 1, `expected a field named ${this.name}, found none`);
    const found = this.isAbsent ? 'nothing' : 'something else';
    return complain(row + this.start, `${this.name}: expected ${this.expected}, found ${found}`);
  }
}

/** A row that has been read. Its message id is decoded only on request, because decoding is slow. */
class ReadRow implements PageRow {
  readonly bytes: Uint8Array;
  readonly messageTimeMs: number;
  receiptTimeMs: number | undefined;
  size: number | undefined;
  readonly #id: Buffer;
  readonly #idStart: number;
  readonly #idEnd: number;

  /** @param id buffer that contains the message id from index `idStart` up to, but not including, `idEnd` */
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

/** Finds the id, times and size in a row. */
export class RowFields {
  readonly #messageTime = new FieldValue('_messagetime', 'milliseconds since the epoch');
  readonly #messageId = new FieldValue('_messageid', 'an integer of 64 bits');
  readonly #receiptTime = new FieldValue('_receipttime', 'milliseconds since the epoch');
  readonly #size = new FieldValue('_size', 'a number of bytes');
  readonly #all = [this.#messageTime, this.#messageId, this.#receiptTime, this.#size];

  begin(): void {
    for (const field of this.#all) field.kind = undefined;
  }

  /** Returns the field with this name, ignoring case. */
  named(bytes: Buffer, start: number, end: number): FieldValue | undefined {
    return this.#all.find(
      ({ name }) => name.length === end - start && bytes.toString('latin1', start, end).toLowerCase() === name,
    );
  }

  /** Decodes the row from `bytes[row]` to `end`. If a field is invalid, throws the error that `complain` returns. */
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

  /** Returns the row together with its message id, or undefined if the id is invalid. */
  #readId(bytes: Buffer, row: number, end: number, messageTimeMs: number): ReadRow | undefined {
    const { kind, start, end: valueEnd } = this.#messageId;
    const map = bytes.subarray(row, end);
    if (kind === 'string' && isInteger(bytes, row + start + 1, row + valueEnd - 1)) {
      return new ReadRow(map, messageTimeMs, bytes, row + start + 1, row + valueEnd - 1);
    }
    const id = Buffer.from(this.#messageId.text(bytes, row) ?? '');
    return isInteger(id, 0, id.length) ? new ReadRow(map, messageTimeMs, id, 0, id.length) : undefined;
  }
}

/** Matches a number. A computed number can have an exponent, as in `1.788E12`. */
const numberForm = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Reads a field as a time. Returns undefined for other values, and for times that a `Date` cannot represent. */
function readInstant(field: FieldValue, bytes: Buffer, row: number): number | undefined {
  const instantMs = readWhole(field, bytes, row);
  return instantMs !== undefined && Math.abs(instantMs) <= latestDateMs ? instantMs : undefined;
}

/** Reads a field as an integer. Returns undefined for other values. */
function readWhole(field: FieldValue, bytes: Buffer, row: number): number | undefined {
  const plain = field.kind === 'string' ? readDigits(bytes, row + field.start + 1, row + field.end - 1) : -1;
  if (plain >= 0) return plain;
  const text = field.text(bytes, row);
  const whole = text !== undefined && numberForm.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(whole) ? whole : undefined;
}

/** Reads a field as a non-negative integer. Returns undefined for other values. */
function readAmount(field: FieldValue, bytes: Buffer, row: number): number | undefined {
  const amount = readWhole(field, bytes, row);
  return amount !== undefined && amount >= 0 ? amount : undefined;
}

/** Maximum number of digits that are read as a number, because doubles are exact only up to 15 digits. */
const maxDigits = 15;

/**
 * Returns the number that the bytes represent, or -1 if any byte is not a digit. For speed, this function creates no
 * string.
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

/** Reports whether the bytes are a signed 64-bit integer. */
function isInteger(bytes: Uint8Array, start: number, end: number): boolean {
  const isNegative = bytes[start] === char.minus;
  const first = isNegative ? start + 1 : start;
  const max = isNegative ? smallest : largest;
  const digits = end - first;
  if (digits < 1 || digits > max.length) return false;
  let order = digits < max.length ? -1 : 0;
  for (let place = 0; place < digits; place++) {
    const byte = bytes[first + place] as number;
    if (byte < char.zero || byte > char.nine) return false;
    if (order === 0) order = byte - (max[place] as number);
  }
  return order <= 0;
}
