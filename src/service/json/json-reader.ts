/**
 * Tokenizer for JSON (RFC 8259) that arrives in chunks. Each byte is read once. Rejects every text that JSON.parse
 * rejects, at the first invalid byte.
 */
import { char, hexDigit, nameOfByte, plainEnd, simpleEscape, whitespace } from '../../base/json-bytes.ts';

/** Types of tokens that the reader returns. `more` means that the reader needs the next chunk to complete a token. */
export const token = {
  more: 0,
  name: 1,
  string: 2,
  number: 3,
  boolean: 4,
  null: 5,
  objectStart: 6,
  objectEnd: 7,
  arrayStart: 8,
  arrayEnd: 9,
} as const;

export type Token = (typeof token)[keyof typeof token];

/** Creates the error for an invalid byte. `offset` counts from the start of the document. */
export type Complain = (offset: number, problem: string) => Error;

/** Sets of tokens that may come next. */
const expecting = {
  value: 0,
  itemOrEnd: 1,
  name: 2,
  nameOrEnd: 3,
  colon: 4,
  commaOrEnd: 5,
  nothing: 6,
} as const;

/**
 * Position inside a token at which the chunk ended. For an escape sequence, the number of missing hexadecimal digits is
 * added to `digits`. For a number, its state in `numberStates` is added to `number`.
 */
const within = { nothing: 0, literal: 1, escape: 2, string: 3, digits: 3, number: 8 } as const;

const noBytes = Buffer.alloc(0);

export class JsonReader {
  /** Index of the first byte of the current token in the chunk. `tokenEnd` is the index after its last byte. */
  tokenStart = 0;
  tokenEnd = 0;
  /** Whether the last string contains a backslash. */
  escaped = false;
  /** Number of open objects and arrays. */
  depth = 0;
  /** Index of the next byte in the chunk. */
  at = 0;

  readonly #maxDepth: number;
  readonly #complain: Complain;
  readonly #isObject: Uint8Array;
  #bytes: Uint8Array = noBytes;
  #view: DataView = new DataView(noBytes.buffer);
  #end = 0;
  /** Offset in the document of the byte `#bytes[0]`. */
  #base = 0;
  #expecting: number = expecting.value;
  #within: number = within.nothing;
  #literal = '';

  constructor(maxDepth: number, complain: Complain) {
    this.#maxDepth = maxDepth;
    this.#complain = complain;
    this.#isObject = new Uint8Array(maxDepth);
  }

  /**
   * Sets the bytes that are read next, from `bytes[at]` to `bytes[end - 1]`. `base` is the offset of `bytes[0]` in the
   * document. Returns a number that must be added to each stored index, so that the index refers to `bytes`.
   */
  take(bytes: Uint8Array, at: number, end: number, base: number): number {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    const moved = this.#base - base;
    this.tokenStart += moved;
    this.at = at;
    this.#end = end;
    this.#base = base;
    return moved;
  }

  /** Whether the current chunk ends inside a token. */
  get insideToken(): boolean {
    return this.#within !== within.nothing;
  }

  /** Whether one complete JSON value was read. */
  get isDone(): boolean {
    return this.#expecting === expecting.nothing;
  }

  /** Converts an index in the chunk to an offset in the document. */
  offsetOf(index: number): number {
    return this.#base + index;
  }

  /**
   * Continues after rows that `row-finder.ts` has read instead of this reader. `at` is the index after the opening
   * brace of the next row.
   */
  skipInto(at: number): void {
    this.at = at;
    this.#expecting = expecting.nameOrEnd;
  }

  /** Reads the next token. Returns `more` at the end of the chunk, and throws for an invalid byte. */
  next(): Token {
    if (this.#within !== within.nothing) return this.#goOn();
    const bytes = this.#bytes;
    for (const end = this.#end; this.at < end; this.at++) {
      const byte = bytes[this.at] as number;
      if (byte === char.comma && this.#expecting === expecting.commaOrEnd) {
        this.#expecting = this.#isInObject() ? expecting.name : expecting.value;
      } else if (byte === char.colon && this.#expecting === expecting.colon) {
        this.#expecting = expecting.value;
      } else if (whitespace[byte] === 0) {
        return this.#start(byte);
      }
    }
    return token.more;
  }

  /** Describes the tokens that may come next, for error messages. */
  expected(): string {
    if (this.#within === within.literal) return this.#literal;
    if (this.#within >= within.number) return 'the rest of a number';
    if (this.#within !== within.nothing) return 'the rest of a string';
    switch (this.#expecting) {
      case expecting.value:
        return 'a value';
      case expecting.itemOrEnd:
        return 'a value or ]';
      case expecting.name:
        return 'a name in quotes';
      case expecting.nameOrEnd:
        return 'a name in quotes or }';
      case expecting.colon:
        return 'a colon';
      case expecting.commaOrEnd:
        return this.#isInObject() ? 'a comma or }' : 'a comma or ]';
      default:
        return 'nothing more';
    }
  }

  #isInObject(): boolean {
    return this.#isObject[this.depth - 1] === 1;
  }

  #start(byte: number): Token {
    this.tokenStart = this.at;
    switch (byte) {
      case char.quote:
        if (this.#expecting > expecting.nameOrEnd) throw this.#unexpected(byte);
        this.escaped = false;
        this.#within = within.string;
        this.at++;
        return this.#readString();
      case char.objectStart:
        this.#open(byte, 1);
        this.#expecting = expecting.nameOrEnd;
        return token.objectStart;
      case char.arrayStart:
        this.#open(byte, 0);
        this.#expecting = expecting.itemOrEnd;
        return token.arrayStart;
      case char.objectEnd:
        this.#close(byte, expecting.nameOrEnd, 1);
        return token.objectEnd;
      case char.arrayEnd:
        this.#close(byte, expecting.itemOrEnd, 0);
        return token.arrayEnd;
      default:
        return this.#startScalar(byte);
    }
  }

  #open(byte: number, isObject: 0 | 1): void {
    if (this.#expecting > expecting.itemOrEnd) throw this.#unexpected(byte);
    if (this.depth === this.#maxDepth) {
      throw this.#complain(this.offsetOf(this.at), `expected at most ${this.depth} levels of objects and arrays`);
    }
    this.#isObject[this.depth] = isObject;
    this.depth++;
    this.at++;
    this.tokenEnd = this.at;
  }

  /**
   * Reads the closing brace or bracket of an object or array. `ifEmpty` is the value that `#expecting` has if the
   * object or array is empty.
   */
  #close(byte: number, ifEmpty: number, isObject: 0 | 1): void {
    const fits =
      this.#expecting === ifEmpty ||
      (this.#expecting === expecting.commaOrEnd && this.#isObject[this.depth - 1] === isObject);
    if (!fits) throw this.#unexpected(byte);
    this.depth--;
    this.at++;
    this.#endValue();
  }

  #endValue(): void {
    this.tokenEnd = this.at;
    this.#within = within.nothing;
    this.#expecting = this.depth === 0 ? expecting.nothing : expecting.commaOrEnd;
  }

  #startScalar(byte: number): Token {
    if (this.#expecting > expecting.itemOrEnd) throw this.#unexpected(byte);
    const number = continueNumber(0, byte);
    if (number >= 0) this.#within = within.number + number;
    else if (literals.has(byte)) {
      this.#within = within.literal;
      this.#literal = literals.get(byte) as string;
    } else throw this.#unexpected(byte);
    this.at++;
    return this.#goOn();
  }

  #goOn(): Token {
    if (this.#within === within.literal) return this.#readLiteral();
    return this.#within >= within.number ? this.#readNumber() : this.#readString();
  }

  #readString(): Token {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.at;
    let state = this.#within;
    while (at < end) {
      if (state === within.string) {
        at = plainEnd(bytes, this.#view, at, end);
        if (at === end) break;
      }
      const byte = bytes[at] as number;
      if (state === within.string) {
        if (byte === char.quote) return this.#endString(at + 1);
        if (byte !== char.backslash) throw this.#wrongByte(at, 'an escape in place of a control character');
        state = within.escape;
        this.escaped = true;
      } else if (state === within.escape) {
        const isEscape = byte === char.u || simpleEscape[byte] === 1;
        if (!isEscape) throw this.#wrongByte(at, 'one of "\\/bfnrtu after a backslash');
        state = byte === char.u ? within.digits + 4 : within.string;
      } else {
        if (hexDigit[byte] === 0) throw this.#wrongByte(at, 'four hexadecimal digits after \\u');
        state--;
      }
      at++;
    }
    this.#within = state;
    this.at = at;
    return token.more;
  }

  #endString(at: number): Token {
    this.at = at;
    this.tokenEnd = at;
    this.#within = within.nothing;
    if (this.#expecting < expecting.name) {
      this.#endValue();
      return token.string;
    }
    this.#expecting = expecting.colon;
    return token.name;
  }

  #readNumber(): Token {
    for (; this.at < this.#end; this.at++) {
      const byte = this.#bytes[this.at] as number;
      const state = this.#within - within.number;
      const next = continueNumber(state, byte);
      if (next < 0) {
        if (!numberStates[state]?.isWhole) throw this.#wrongByte(this.at, 'a digit');
        this.#endValue();
        return token.number;
      }
      this.#within = within.number + next;
    }
    return token.more;
  }

  #readLiteral(): Token {
    const literal = this.#literal;
    for (let place = this.at - this.tokenStart; place < literal.length; place++) {
      if (this.at === this.#end) return token.more;
      if (this.#bytes[this.at] !== literal.charCodeAt(place)) throw this.#wrongByte(this.at, literal);
      this.at++;
    }
    this.#endValue();
    return literal === 'null' ? token.null : token.boolean;
  }

  #unexpected(byte: number): Error {
    return this.#complain(this.offsetOf(this.at), `expected ${this.expected()}, found ${nameOfByte(byte)}`);
  }

  #wrongByte(at: number, expected: string): Error {
    const found = nameOfByte(this.#bytes[at] as number);
    return this.#complain(this.offsetOf(at), `expected ${expected}, found ${found}`);
  }
}

const literals: ReadonlyMap<number, string> = new Map([
  [char.t, 'true'],
  [char.f, 'false'],
  [char.n, 'null'],
]);

/** Names of the token kinds in error messages. */
export const tokenNames: Readonly<Record<Token, string>> = {
  [token.more]: 'nothing',
  [token.name]: 'a name',
  [token.string]: 'a string',
  [token.number]: 'a number',
  [token.boolean]: 'true or false',
  [token.null]: 'null',
  [token.objectStart]: 'an object',
  [token.objectEnd]: 'the end of an object',
  [token.arrayStart]: 'an array',
  [token.arrayEnd]: 'the end of an array',
};

const digits = '0123456789';

/** Grammar of numbers (RFC 8259, 6): for each state, whether the number may end, and which characters may follow. */
const numberStates: readonly { readonly isWhole: boolean; readonly next: Readonly<Record<string, number>> }[] = [
  { isWhole: false, next: { '-': 1, '0': 2, '123456789': 3 } },
  { isWhole: false, next: { '0': 2, '123456789': 3 } },
  { isWhole: true, next: { '.': 4, eE: 6 } },
  { isWhole: true, next: { [digits]: 3, '.': 4, eE: 6 } },
  { isWhole: false, next: { [digits]: 5 } },
  { isWhole: true, next: { [digits]: 5, eE: 6 } },
  { isWhole: false, next: { '+-': 7, [digits]: 8 } },
  { isWhole: false, next: { [digits]: 8 } },
  { isWhole: true, next: { [digits]: 8 } },
];

/**
 * Returns the next state of a number after the character `byte`. Returns -1 if the number cannot continue with this
 * character.
 */
function continueNumber(state: number, byte: number): number {
  const character = String.fromCharCode(byte);
  const next = Object.entries(numberStates[state]?.next ?? {});
  return next.find(([characters]) => characters.includes(character))?.[1] ?? -1;
}
