/**
 * Reads JSON (RFC 8259) that arrives in chunks. Each byte is read once. Rejects all text that JSON.parse rejects, at
 * the first invalid byte.
 *
 * The reading methods are generators. They yield at the end of a chunk, and must be resumed after `take` has supplied
 * the next chunk.
 */
import { char, hexDigit, nameOfByte, plainEnd, simpleEscape, whitespace } from '../../base/json-bytes.ts';

/** Reads part of a document and returns a value of type `T`. Yields at the end of each chunk. */
export type Reading<T> = Generator<void, T, void>;

/** Types of JSON values, and their names in error messages. */
export const valueTypeNames = {
  object: 'an object',
  array: 'an array',
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
} as const;

export type JsonKind = keyof typeof valueTypeNames;

/** Creates the error for an invalid byte. `offset` counts from the start of the document. */
export type Complain = (offset: number, problem: string) => Error;

/**
 * Syntax of objects or of arrays: the byte that ends them, and a description of what may come next, for error messages.
 */
interface Form {
  readonly end: number;
  readonly first: string;
  readonly later: string;
  readonly afterComma: string;
}

const objectForm: Form = {
  end: char.objectEnd,
  first: 'a name in quotes or }',
  later: 'a comma or }',
  afterComma: 'a name in quotes',
};
const arrayForm: Form = { end: char.arrayEnd, first: 'a value or ]', later: 'a comma or ]', afterComma: 'a value' };

const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);

export class JsonReader {
  /** The current chunk. `view` covers the same bytes. */
  bytes: Buffer = Buffer.alloc(0);
  view: DataView = new DataView(this.bytes.buffer);
  /** Index of the next byte in the chunk. */
  at = 0;
  /** Index after the last byte of the chunk. */
  end = 0;
  /** Index of the first byte of the name or value that was read last. */
  start = 0;
  /** True if the name or string that was read last contains an escape sequence. */
  hasEscape = false;
  /** Index of the first byte that must stay in memory until the next chunk arrives, or -1 if there is no such byte. */
  kept = -1;
  /** Description of what may come next, for error messages. */
  expected = 'a value';
  /** True once the whole document has been read. */
  isDone = false;

  readonly #maxDepth: number;
  readonly #complain: Complain;
  /** One byte for each open object and array: 1 for an object, 0 for an array. */
  readonly #isObject: Uint8Array;
  /** Number of open objects and arrays. */
  #depth = 0;
  /** True if no field or item of the innermost object or array has been read yet. */
  #isFirst = false;
  /** True if the colon after the last name has not been read yet. */
  #isAfterName = false;
  /** Offset of `bytes[0]` in the document. */
  #base = 0;

  constructor(maxDepth: number, complain: Complain) {
    this.#maxDepth = maxDepth;
    this.#complain = complain;
    this.#isObject = new Uint8Array(maxDepth);
  }

  /**
   * Sets the bytes to read next, from `bytes[at]` to `bytes[end - 1]`. `base` is the offset of `bytes[0]` in the
   * document. `bytes` must contain all bytes from index `kept` onwards.
   */
  take(bytes: Buffer, at: number, end: number, base: number): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.at = at;
    this.end = end;
    this.start += this.#base - base;
    if (this.kept >= 0) this.kept += this.#base - base;
    this.#base = base;
  }

  /** Converts an index in the chunk to an offset in the document. */
  offsetOf(index: number): number {
    return this.#base + index;
  }

  /** Moves to the document's value. Skips a byte order mark. */
  *startOfDocument(): Reading<void> {
    for (const [place, mark] of byteOrderMark.entries()) {
      if ((yield* this.#byte()) === mark) this.at++;
      else if (place === 0) break;
      else throw this.#complain(this.offsetOf(this.at), 'expected the rest of a byte order mark');
    }
    while (!this.#skipSpace()) yield;
  }

  /** Reads whitespace after the document's value. Throws for any other byte. */
  *endOfDocument(): Reading<never> {
    this.isDone = true;
    this.expected = 'nothing more';
    while (!this.#skipSpace()) yield;
    throw this.#unexpected();
  }

  /**
   * Reads the next name of the innermost object, or moves to the next item of the innermost array. Returns false after
   * the end of the object or array.
   * @param keeps true to set `kept` to the beginning of the name
   */
  *next(keeps = false): Reading<boolean> {
    const isObject = this.#isObject[this.#depth - 1] === 1;
    const form = isObject ? objectForm : arrayForm;
    this.expected = this.#isFirst ? form.first : form.later;
    while (!this.#skipSpace()) yield;
    const byte = this.bytes[this.at];
    if (byte === form.end) {
      this.at++;
      this.#depth--;
      this.#isFirst = false;
      return false;
    }
    if (!this.#isFirst) {
      if (byte !== char.comma) throw this.#unexpected();
      this.at++;
      this.expected = form.afterComma;
      while (!this.#skipSpace()) yield;
    }
    this.#isFirst = false;
    if (!isObject) return true;
    if (this.bytes[this.at] !== char.quote) throw this.#unexpected();
    this.#begin(keeps);
    if (!this.#startString()) yield* this.#restOfString();
    this.expected = 'a colon';
    this.#isAfterName = true;
    return true;
  }

  /**
   * Reads a value, and the colon before it if the value belongs to a name. Reads only the first byte of an object or
   * array.
   * @param keeps true to set `kept` to the beginning of the value
   */
  *value(keeps = false): Reading<JsonKind> {
    if (this.#isAfterName) {
      while (!this.#skipSpace()) yield;
      if (this.bytes[this.at] !== char.colon) throw this.#unexpected();
      this.at++;
      this.#isAfterName = false;
      this.expected = 'a value';
      while (!this.#skipSpace()) yield;
    }
    this.#begin(keeps);
    switch (this.bytes[this.at]) {
      case char.quote:
        if (!this.#startString()) yield* this.#restOfString();
        return 'string';
      case char.objectStart:
        this.#open(1);
        return 'object';
      case char.arrayStart:
        this.#open(0);
        return 'array';
      case char.t:
        yield* this.#literal('true');
        return 'boolean';
      case char.f:
        yield* this.#literal('false');
        return 'boolean';
      case char.n:
        yield* this.#literal('null');
        return 'null';
      default:
        yield* this.#number();
        return 'number';
    }
  }

  /** Reads the rest of an object or array, after its first byte. */
  *skipRest(): Reading<void> {
    const outer = this.#depth - 1;
    while (this.#depth > outer) {
      if (yield* this.next()) yield* this.value();
    }
  }

  /** Reads a value and its content. */
  *skipValue(): Reading<void> {
    if (isContainer(yield* this.value())) yield* this.skipRest();
  }

  /**
   * Continues in the object that begins at index `start`, after the fields that `row-finder.ts` has already read in
   * place of this reader. `at` is the index after these fields.
   */
  continueObject(start: number, at: number): void {
    this.at = at;
    this.#isFirst = at === start + 1;
  }

  /** Starts reading a name or value. */
  #begin(keeps: boolean): void {
    this.start = this.at;
    if (keeps) this.kept = this.at;
  }

  #open(isObject: 0 | 1): void {
    if (this.#depth === this.#maxDepth) {
      throw this.#complain(this.offsetOf(this.at), `expected at most ${this.#depth} levels of objects and arrays`);
    }
    this.#isObject[this.#depth] = isObject;
    this.#depth++;
    this.#isFirst = true;
    this.at++;
  }

  /** Reads a string up to its first escape sequence. Reports whether the string is complete. */
  #startString(): boolean {
    this.hasEscape = false;
    this.at = plainEnd(this.bytes, this.view, this.at + 1, this.end);
    if (this.at === this.end || this.bytes[this.at] !== char.quote) return false;
    this.at++;
    return true;
  }

  /** Reads the rest of a string, starting at an escape sequence or after the end of a chunk. */
  *#restOfString(): Reading<void> {
    this.expected = 'the rest of a string';
    for (;;) {
      this.at = plainEnd(this.bytes, this.view, this.at, this.end);
      if (this.at === this.end) {
        yield;
        continue;
      }
      const byte = this.bytes[this.at];
      if (byte === char.backslash) yield* this.#escape();
      else if (byte === char.quote) break;
      else throw this.#unexpected('an escape in place of a control character');
    }
    this.at++;
  }

  *#escape(): Reading<void> {
    this.hasEscape = true;
    this.at++;
    while (this.at === this.end) yield;
    const byte = this.bytes[this.at] as number;
    if (byte !== char.u && simpleEscape[byte] === 0) throw this.#unexpected('one of "\\/bfnrtu after a backslash');
    this.at++;
    for (let digits = byte === char.u ? 4 : 0; digits > 0; digits--) {
      if (hexDigit[yield* this.#byte()] === 0) throw this.#unexpected('four hexadecimal digits after \\u');
      this.at++;
    }
  }

  *#number(): Reading<void> {
    const isNegative = this.bytes[this.at] === char.minus;
    if (!isNegative && !isDigit(this.bytes[this.at])) throw this.#unexpected();
    this.expected = 'the rest of a number';
    if (isNegative) this.at++;
    if ((yield* this.#byte()) === char.zero) this.at++;
    else yield* this.#digits();
    if ((yield* this.#byte()) === char.dot) {
      this.at++;
      yield* this.#digits();
    }
    const exponent = yield* this.#byte();
    if (exponent !== char.e && exponent !== char.E) return;
    this.at++;
    const sign = yield* this.#byte();
    if (sign === char.plus || sign === char.minus) this.at++;
    yield* this.#digits();
  }

  /** Reads one or more digits. */
  *#digits(): Reading<void> {
    if (!isDigit(yield* this.#byte())) throw this.#unexpected('a digit');
    for (;;) {
      while (this.at < this.end && isDigit(this.bytes[this.at])) this.at++;
      if (this.at < this.end) return;
      yield;
    }
  }

  *#literal(literal: string): Reading<void> {
    this.expected = literal;
    for (let place = 0; place < literal.length; place++) {
      if ((yield* this.#byte()) !== literal.charCodeAt(place)) throw this.#unexpected();
      this.at++;
    }
  }

  /** Skips whitespace. Returns false at the end of the chunk. */
  #skipSpace(): boolean {
    while (this.at < this.end && whitespace[this.bytes[this.at] as number] === 1) this.at++;
    return this.at < this.end;
  }

  /** Returns the next byte without consuming it. */
  *#byte(): Reading<number> {
    while (this.at === this.end) yield;
    return this.bytes[this.at] as number;
  }

  #unexpected(expected = this.expected): Error {
    const found = nameOfByte(this.bytes[this.at] as number);
    return this.#complain(this.offsetOf(this.at), `expected ${expected}, found ${found}`);
  }
}

export function isContainer(kind: JsonKind): boolean {
  return kind === 'object' || kind === 'array';
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= char.zero && byte <= char.nine;
}
