/**
 * One row of a page of messages (2.5). Its id and times are found in the bytes of the row, which otherwise stay unchanged.
 *
 * The service writes field names with different upper and lower case, depending on the deployment, and writes all values as strings, even
 * numbers. If a field occurs twice in a row, the last one counts, as with JSON.parse. A row without a valid time or id is an error (E9).
 */
import { char } from '../../base/json-bytes.ts';
import { type Token, token } from '../json/json-reader.ts';

export interface PageRow {
  /**
   * Bytes of the row's object `map` from `{` to `}`, as the service sent them. They are valid only
   * during the call, because the memory is reused.
   */
  readonly bytes: Uint8Array;
  /** Message time (`_messagetime`) of the row in ms since the epoch. */
  readonly messageTimeMs: number;
  /**
   * Id of the message (`_messageid`), a signed 64-bit decimal. The text is valid only during the
   * call.
   */
  readonly messageId: string;
  /**
   * Receipt time (`_receipttime`) of the message in ms since the epoch; undefined if absent, `null`
   * or `""`.
   */
  readonly receiptTimeMs: number | undefined;
  /** Number of bytes of the message (`_size`); undefined if absent or not an integer. */
  readonly size?: number | undefined;
}

/**
 * Receives the rows of a page in order. An error that the receiver throws reaches the caller of
 * `write`.
 */
export interface RowSink {
  row(row: PageRow): void;
}

/** Creates the error for an invalid row. `at` is the index of the invalid byte. */
export type ComplainOfRow = (at: number, problem: string) => Error;

/** Position of a field's value in a row, counted from the row's first byte and including quotes. */
class FieldValue {
  readonly name: string;
  readonly expected: string;
  /** Kind of the value's token; `more` until the field is found. */
  kind: Token = token.more;
  escaped = false;
  start = 0;
  end = 0;

  constructor(name: string, expected: string) {
    this.name = name;
    this.expected = expected;
  }

  /** Whether the field is absent, `null`, or `""`. The service writes missing values as `""`. */
  get isAbsent(): boolean {
    const isEmpty = this.kind === token.string && this.end - this.start === 2;
    return isEmpty || this.kind === token.null || this.kind === token.more;
  }

  /**
   * Returns the content of a string or the digits of a number; undefined for other values. Only ASCII is decoded correctly, which is enough
   * for ids, times and sizes.
   */
  text(bytes: Buffer, row: number): string | undefined {
    const start = row + this.start;
    const end = row + this.end;
    if (this.kind === token.number) return bytes.toString('latin1', start, end);
    if (this.kind !== token.string) return undefined;
    return this.escaped ? unescaped(bytes, start, end) : bytes.toString('latin1', start + 1, end - 1);
  }

  complaint(row: number, rowEnd: number, complain: ComplainOfRow): Error {
    if (this.kind === token.more) return complain(rowEnd - 1, `expected a member ${this.name}, found none`);
    const found = this.isAbsent ? 'nothing' : 'something else';
    return complain(row + this.start, `${this.name}: expected ${this.expected}, found ${found}`);
  }
}

/** Row that was read field by field. The id is decoded only on request, since that takes as long as reading the rest of the row. */
class ReadRow implements PageRow {
  readonly bytes: Buffer;
  readonly messageTimeMs: number;
  receiptTimeMs: number | undefined;
  size: number | undefined;
  readonly #id: Buffer;
  readonly #idStart: number;
  readonly #idEnd: number;

  /** `id` contains the id from `idStart` to `idEnd`. Usually these are bytes of the row itself. */
  constructor(bytes: Buffer, messageTimeMs: number, id: Buffer, idStart: number, idEnd: number) {
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

/** Collects the positions of a row's members, then decodes the four known fields. */
export class RowFields {
  readonly #messageTime = new FieldValue('_messagetime', 'milliseconds since the epoch');
  readonly #messageId = new FieldValue('_messageid', 'an integer of 64 bits');
  readonly #receiptTime = new FieldValue('_receipttime', 'milliseconds since the epoch');
  readonly #size = new FieldValue('_size', 'a number of bytes');
  /** Field to which the next value belongs; undefined if the value is not needed. */
  #named: FieldValue | undefined;

  begin(): void {
    this.#messageTime.kind = token.more;
    this.#messageId.kind = token.more;
    this.#receiptTime.kind = token.more;
    this.#size.kind = token.more;
  }

  /** Handles a name of the row, including its quotes. */
  name(bytes: Buffer, start: number, end: number, escaped: boolean): void {
    if (escaped) {
      const name = Buffer.from(unescaped(bytes, start, end), 'utf8');
      this.#named = this.#field(name, 0, name.length);
    } else {
      this.#named = this.#field(bytes, start + 1, end - 1);
    }
  }

  /** Handles the value after a name, with positions from the row's first byte. For an object or an array: its first byte. */
  value(kind: Token, start: number, end: number, escaped: boolean): void {
    const field = this.#named;
    if (field === undefined) return;
    field.kind = kind;
    field.escaped = escaped;
    field.start = start;
    field.end = end;
  }

  /** Decodes the row from `bytes[row]` to `end`. Throws an error of `complain` if a field is invalid. */
  read(bytes: Buffer, row: number, end: number, complain: ComplainOfRow): PageRow {
    const messageTimeMs = readInstant(this.#messageTime, bytes, row);
    if (messageTimeMs === undefined) throw this.#messageTime.complaint(row, end, complain);
    const read = this.#readId(bytes.subarray(row, end), messageTimeMs);
    if (read === undefined) throw this.#messageId.complaint(row, end, complain);
    read.receiptTimeMs = readInstant(this.#receiptTime, bytes, row);
    if (read.receiptTimeMs === undefined && !this.#receiptTime.isAbsent)
      throw this.#receiptTime.complaint(row, end, complain);
    read.size = readAmount(this.#size, bytes, row);
    return read;
  }

  /** Returns a row with its id, or undefined if the id is invalid. */
  #readId(map: Buffer, messageTimeMs: number): ReadRow | undefined {
    const { kind, escaped, start, end } = this.#messageId;
    if (kind === token.string && !escaped) {
      return isInteger(map, start + 1, end - 1) ? new ReadRow(map, messageTimeMs, map, start + 1, end - 1) : undefined;
    }
    const text = this.#messageId.text(map, 0);
    if (text === undefined) return undefined;
    const id = Buffer.from(text, 'latin1');
    return isInteger(id, 0, id.length) ? new ReadRow(map, messageTimeMs, id, 0, id.length) : undefined;
  }

  #field(bytes: Uint8Array, start: number, end: number): FieldValue | undefined {
    switch (end - start) {
      case messageId.length:
        return isName(bytes, start, messageId) ? this.#messageId : undefined;
      case messageTime.length:
        if (isName(bytes, start, messageTime)) return this.#messageTime;
        return isName(bytes, start, receiptTime) ? this.#receiptTime : undefined;
      case size.length:
        return isName(bytes, start, size) ? this.#size : undefined;
      default:
        return undefined;
    }
  }
}

const messageTime = Buffer.from('_messagetime');
const receiptTime = Buffer.from('_receipttime');
const messageId = Buffer.from('_messageid');
const size = Buffer.from('_size');

/** Table of name lengths: 1 at each length of a known field name, including quotes. */
export const nameLengths: Uint8Array = new Uint8Array(64);
for (const { length } of [messageTime, receiptTime, messageId, size]) nameLengths[length + 2] = 1;

/** Returns whether the known field name occurs at this position, ignoring case. A known name has only letters after its underscore. */
function isName(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let place = 1; place < name.length; place++) {
    if (((bytes[start + place] as number) | 0x20) !== name[place]) return false;
  }
  return bytes[start] === name[0];
}

/** Decodes a string of the row that contains escapes. The given bytes include its quotes. */
function unescaped(bytes: Buffer, start: number, end: number): string {
  return JSON.parse(bytes.toString('utf8', start, end)) as string;
}

/** Matches a number of the row. A number that the query computed can have the form `1.788E12`. */
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

/** Maximum number of digits that are read as a double, which is exact for up to 15 digits. */
const maxDigits = 15;

/**
 * Returns the number if the bytes are only digits, otherwise -1. Creates no string, because every
 * row has two such fields and strings would slow down the reading.
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
