/**
 * One row of a page of messages (2.5), and how its id and its times are found in the bytes, which otherwise stay as they came.
 *
 * The case of names varies between deployments, and values are strings even where they are numbers. Of a field that stands twice in
 * a row the last one counts, as JSON.parse has it. A row without a readable time or id is an error (protocol E9).
 */
import { char } from '../base/json-bytes.ts';
import { type Token, token } from './json-reader.ts';
import { found } from './row-finder.ts';

export interface PageRow {
  /** The object `map` from `{` to `}`, as it came. Valid during the call only: the bytes are written over after it. */
  readonly bytes: Uint8Array;
  /** `_messagetime`, ms since the epoch. */
  readonly messageTimeMs: number;
  /** `_messageid`, a signed decimal of 64 bits. As `bytes`: during the call only. */
  readonly messageId: string;
  /** `_receipttime`, ms since the epoch; undefined where it is absent, `null` or `""`. */
  readonly receiptTimeMs: number | undefined;
  /** `_size`, the bytes of the message; undefined where the row has no such field, or something else than a whole number in it. */
  readonly size?: number | undefined;
  /** `_messagetime` of the row behind it in the page, where that is known already. */
  readonly nextTimeMs?: number | undefined;
}

/** Rows that follow one another in a page; everything about them is good during the call only. What has no comment is as in `RawRows`. */
export interface PageRows {
  readonly length: number;
  /** Good until the next one is asked for. */
  row(index: number): PageRow;
  bytes(index: number): Uint8Array;
  linesLength(from: number, to: number): number;
  lines(from: number, to: number): Uint8Array;
}

/** Takes the rows of a page, in its order. What it throws goes through to who gives the bytes. */
export interface RowTaker {
  row(row: PageRow): void;
  /** Rows that follow one another, at once; without it each comes by itself. */
  run?(rows: PageRows): void;
}

/** Makes the error for a row; `at` is the index of the byte that it is about. */
export type ComplainOfRow = (at: number, problem: string) => Error;

/** What a row shows of a field: where its value stands, from the row's first byte on, with its quotes where it has any. */
class FieldValue {
  readonly name: string;
  readonly expected: string;
  /** `more` until the row has shown the field. */
  kind: Token = token.more;
  escaped = false;
  start = 0;
  end = 0;

  constructor(name: string, expected: string) {
    this.name = name;
    this.expected = expected;
  }

  /** A string without escapes that stands at so many bytes; its quotes are around them. */
  take(table: Int32Array, at: number, row: number): void {
    const start = table[at] as number;
    this.kind = start === 0 ? token.more : token.string;
    this.escaped = false;
    this.start = start - row - 1;
    this.end = (table[at + 1] as number) - row + 1;
  }

  /** Not there, `null`, or `""`, which is how the service writes that there is no value. */
  get isAbsent(): boolean {
    const isEmpty = this.kind === token.string && this.end - this.start === 2;
    return isEmpty || this.kind === token.null || this.kind === token.more;
  }

  /** The string, or the digits of the number; undefined of anything else. What is not ASCII comes out wrong, as no field has it. */
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

/** Hardly anybody wants an id, and to make a text of it takes as long as all else that is read of a row. */
class ReadRow implements PageRow {
  readonly bytes: Buffer;
  readonly messageTimeMs: number;
  receiptTimeMs: number | undefined;
  size: number | undefined;
  readonly #id: Buffer;
  readonly #idStart: number;
  readonly #idEnd: number;

  /** The id stands in `id` from `idStart` to `idEnd`: mostly among the row's bytes. */
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

/** Takes in where the members of one row stand, and then reads the four that are wanted. */
export class RowFields {
  readonly #messageTime = new FieldValue('_messagetime', 'milliseconds since the epoch');
  readonly #messageId = new FieldValue('_messageid', 'an integer of 64 bits');
  readonly #receiptTime = new FieldValue('_receipttime', 'milliseconds since the epoch');
  readonly #size = new FieldValue('_size', 'a number of bytes');
  /** Whose value comes next; undefined where nobody wants it. */
  #named: FieldValue | undefined;

  begin(): void {
    this.#messageTime.kind = token.more;
    this.#messageId.kind = token.more;
    this.#receiptTime.kind = token.more;
    this.#size.kind = token.more;
  }

  /** A name of the row, from quote to quote. */
  name(bytes: Buffer, start: number, end: number, escaped: boolean): void {
    if (escaped) {
      const name = Buffer.from(unescaped(bytes, start, end), 'utf8');
      this.#named = this.#field(name, 0, name.length);
    } else {
      this.#named = this.#field(bytes, start + 1, end - 1);
    }
  }

  /** The value behind that name, from the row's first byte on; of an object or an array, its first byte. */
  value(kind: Token, start: number, end: number, escaped: boolean): void {
    const field = this.#named;
    if (field === undefined) return;
    field.kind = kind;
    field.escaped = escaped;
    field.start = start;
    field.end = end;
  }

  /** What was found of a row, its entry of `RowFinder.table`. */
  take(table: Int32Array, entry: number): void {
    const row = table[entry + found.row] as number;
    this.#messageTime.take(table, entry + found.messageTime, row);
    this.#messageId.take(table, entry + found.messageId, row);
    this.#receiptTime.take(table, entry + found.receiptTime, row);
    this.#size.take(table, entry + found.size, row);
  }

  /** The row from `bytes[row]` to `end`. Throws what `complain` made where a field cannot be read. */
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

  /** Undefined where the id is none. */
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

/** 1 at each length that the name of a field has which is read, its quotes among it and without escapes. */
export const nameLengths: Uint8Array = new Uint8Array(64);
for (const { length } of [messageTime, receiptTime, messageId, size]) nameLengths[length + 2] = 1;

/** Whether the name stands there, in small letters or in capitals: behind its underscore it has only letters. */
function isName(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let place = 1; place < name.length; place++) {
    if (((bytes[start + place] as number) | 0x20) !== name[place]) return false;
  }
  return bytes[start] === name[0];
}

/** What a string with escapes says, from quote to quote. */
function unescaped(bytes: Buffer, start: number, end: number): string {
  return JSON.parse(bytes.toString('utf8', start, end)) as string;
}

/** Computed numbers can look like `1.788E12`. */
const numberForm = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readInstant(field: FieldValue, bytes: Buffer, row: number): number | undefined {
  const plain = field.kind === token.string ? readDigits(bytes, row + field.start + 1, row + field.end - 1) : -1;
  if (plain >= 0) return plain;
  const text = field.text(bytes, row);
  const instantMs = text !== undefined && numberForm.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(instantMs) ? instantMs : undefined;
}

/** Undefined where it is no whole number from 0 on. */
function readAmount(field: FieldValue, bytes: Buffer, row: number): number | undefined {
  const amount = readInstant(field, bytes, row);
  return amount !== undefined && amount >= 0 ? amount : undefined;
}

/** Any number of so many digits is exact. */
const mostDigits = 15;

/** The number where only digits stand; otherwise -1. It makes no text, since every row has two of these. */
export function readDigits(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > mostDigits || end === start) return -1;
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

/** Of 64 bits, with a sign. */
export function isInteger(bytes: Uint8Array, start: number, end: number): boolean {
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
