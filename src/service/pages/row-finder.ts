/**
 * Finds rows in a page of messages (2.5) that have the service's usual form: `{"map":{"name":"value",…}}` with only strings and no
 * whitespace. It examines sixteen bytes at a time with WebAssembly. Nearly all rows have this form, and this takes most of the time
 * for reading a page. `json-reader.ts` handles all other rows and reports errors. The found rows can be written as lines for NDJSON
 * files.
 *
 * Invariant: a found row is valid JSON, and another row follows it.
 */

import { char } from '../../base/json-bytes.ts';
import {
  advance,
  block,
  branch,
  branchIf,
  type Code,
  call,
  copy,
  get,
  giveBack,
  i32,
  i64,
  type Label,
  loop,
  sequence,
  set,
  v128,
  type WasmFunction,
  wasmModule,
  when,
} from './wasm-code.ts';

/** Offsets in a table entry: each field has its start, and its end at the next index. 0 means that the field is absent. */
export const found = { row: 0, messageTime: 2, messageId: 4, receiptTime: 6, size: 8 } as const;
/** Number of 32-bit integers in an entry. */
export const entryLength = 10;

const pageBytes = 65_536;
/** Maximum number of bytes examined in one call. After them there is space for sixteen-byte reads beyond the end. */
const textBytes = 6 * pageBytes;
const tableAt = textBytes + 64;
const tableEnd = 8 * pageBytes;
/** Memory for rows with line feeds, which are shorter than the rows with their separators. */
const linesAt = tableEnd;
const memoryEnd = linesAt + textBytes;
const bytesOf = { i32: 4 } as const;
const entryBytes = entryLength * bytesOf.i32;
/** Maximum number of rows found in one call. */
export const maxFoundRows: number = Math.floor((tableEnd - tableAt) / entryBytes);

/** Text between the end of a row's last value and the next row. */
const betweenRows = '"}},{"map":{';
/** Distance between the end of a row and the beginning of the next. */
export const gapLength: number = betweenRows.length - 3;

/** Provided by the engine, but TypeScript declares it only for browsers. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Finds rows from `at` to `end`. Returns the end of the table, where the start of the next row is stored. */
  readonly find: (at: number, end: number) => number;
  /** Writes the rows of the table entries from `entry` to `end` as lines. Returns the end of the lines. */
  readonly writeLines: (entry: number, end: number) => number;
}

export class RowFinder {
  /** Entry of each found row, with indexes relative to `origin`. */
  readonly table: Int32Array;
  /** Index of the byte to which the table refers. */
  origin = 0;
  /** Index of the first row that was not found and must be read differently. */
  next = 0;
  readonly #text: Uint8Array;
  readonly #lines: Uint8Array;
  readonly #exports: Exports;
  #bytes: Uint8Array | undefined;
  #length = 0;

  constructor() {
    this.#exports = new WebAssembly.Instance(module()).exports as Exports;
    const { buffer } = this.#exports.memory;
    this.#text = new Uint8Array(buffer, 0, textBytes);
    this.#lines = new Uint8Array(buffer, linesAt, memoryEnd - linesAt);
    this.table = new Int32Array(buffer, tableAt, (tableEnd - tableAt) / bytesOf.i32);
  }

  /**
   * Finds consecutive rows from `at` on, where a row must begin with `{`. Returns their number. The same `bytes` object is assumed
   * to have unchanged content.
   */
  find(bytes: Uint8Array, at: number, end: number): number {
    const isHeld = bytes === this.#bytes && at >= this.origin && at < this.origin + this.#length;
    if (!isHeld) this.#take(bytes, at, end);
    const rows = this.#findFrom(at);
    if (rows > 0 || !isHeld || this.origin + this.#length === end) return rows;
    this.#take(bytes, at, end);
    return this.#findFrom(at);
  }

  /** Returns found rows from one table entry to another, each with a line feed. Valid until the next call. */
  lines(from: number, to: number): Uint8Array {
    const end = this.#exports.writeLines(tableAt + from * entryBytes, tableAt + to * entryBytes);
    return this.#lines.subarray(0, end - linesAt);
  }

  #take(bytes: Uint8Array, at: number, end: number): void {
    const text = bytes.subarray(at, Math.min(end, at + textBytes));
    this.#text.set(text);
    this.#bytes = bytes;
    this.origin = at;
    this.#length = text.length;
  }

  #findFrom(at: number): number {
    const rows = (this.#exports.find(at - this.origin, this.#length) - tableAt) / entryBytes;
    this.next = this.origin + (this.table[rows * entryLength] as number);
    return rows;
  }
}

/** Eight characters as a little-endian 64-bit integer. */
function word(characters: string): bigint {
  return Buffer.from(characters, 'latin1').readBigUInt64LE();
}

/** Index of the first byte from `at` on that is not plain text of a string (`json-bytes.ts`), or `end` or more if there is none. */
const plainEnd = ((): WasmFunction => {
  const [at, end, marks, bytes] = [0, 1, 2, 3];
  const isMarked = v128.or(
    v128.or(v128.eq(get(bytes), v128.of(char.quote)), v128.eq(get(bytes), v128.of(char.backslash))),
    v128.lt(get(bytes), v128.of(char.space)),
  );
  return {
    parameters: 2,
    locals: 1,
    vectors: 1,
    body: sequence(
      loop((again) =>
        sequence(
          set(bytes, v128.load(get(at))),
          set(marks, v128.bits(isMarked)),
          when(get(marks), giveBack(i32.add(get(at), i32.trailingZeros(get(marks))))),
          advance(at, 16),
          branchIf(again, i32.lt(get(at), get(end))),
        ),
      ),
      get(at),
    ),
  };
})();

/** Whether four hexadecimal digits follow at `at`. */
const hexDigits = ((): WasmFunction => {
  const at = 0;
  const isDigit = (offset: number) => {
    const digit = i32.sub(i32.load8(get(at), offset), i32.of(char.zero));
    const letter = i32.sub(i32.or(i32.load8(get(at), offset), i32.of(char.space)), i32.of(char.a));
    return i32.or(i32.lt(digit, i32.of(10)), i32.lt(letter, i32.of(6)));
  };
  const body = i32.and(i32.and(isDigit(0), isDigit(1)), i32.and(isDigit(2), isDigit(3)));
  return { parameters: 1, locals: 0, vectors: 0, body };
})();

const plainEndIndex = 0;
const hexDigitsIndex = 1;

const findRows = ((): WasmFunction => {
  const [at, end, entry, member, nameEnd, value, valueEnd, byte, escaped] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const offsetOf = (field: number) => field * bytesOf.i32;

  /** Skips the escape at `valueEnd`, or branches to `leave`. */
  const passEscape = (leave: Label) =>
    sequence(
      set(byte, i32.load8(get(valueEnd), 1)),
      block((passed) =>
        sequence(
          when(
            i32.eq(get(byte), i32.of(char.u)),
            branchIf(leave, i32.isZero(call(hexDigitsIndex, i32.add(get(valueEnd), i32.of(2))))),
            advance(valueEnd, 6),
            branch(passed),
          ),
          branchIf(leave, i32.isZero(isOneOf(byte, '"\\/bfnrt'))),
          advance(valueEnd, 2),
        ),
      ),
      set(escaped, i32.of(1)),
      set(valueEnd, call(plainEndIndex, get(valueEnd), get(end))),
    );

  /** Skips a member from the name's quote at `member` to the value's closing quote at `valueEnd`. */
  const passMember = (leave: Label) =>
    sequence(
      branchIf(leave, i32.ne(i32.load8(get(member)), i32.of(char.quote))),
      set(nameEnd, call(plainEndIndex, i32.add(get(member), i32.of(1)), get(end))),
      set(value, i32.add(get(nameEnd), i32.of(3))),
      branchIf(leave, i32.ge(get(value), get(end))),
      branchIf(leave, i32.ne(i32.and(i32.load(get(nameEnd)), i32.of(0xff_ff_ff)), i32.of(threeBytes('":"')))),
      set(escaped, i32.of(0)),
      set(valueEnd, call(plainEndIndex, get(value), get(end))),
      block((closed) =>
        loop((again) =>
          sequence(
            branchIf(leave, i32.ge(get(valueEnd), get(end))),
            set(byte, i32.load8(get(valueEnd))),
            branchIf(closed, i32.eq(get(byte), i32.of(char.quote))),
            branchIf(leave, i32.ne(get(byte), i32.of(char.backslash))),
            passEscape(leave),
            branch(again),
          ),
        ),
      ),
    );

  /** Stores the position of the value if the name matches, ignoring case (`page-row.ts`). */
  const note = (name: string, field: number, leave: Label) => {
    // Compares the name after its quote and underscore. Letters that are not compared are implied by the length.
    const isRest = (offset: number) => {
      const letters = i64.or(i64.load(get(member), 2 + offset), i64.of(word(' '.repeat(8))));
      return i64.eq(letters, i64.of(word(name.slice(1 + offset, 9 + offset))));
    };
    const isAll =
      name.length === 5
        ? i32.eq(i32.or(i32.load(get(member), 2), i32.of(fourBytes('    '))), i32.of(fourBytes(name.slice(1))))
        : i32.and(isRest(0), isRest(name.length - 9));
    const isName = i32.and(i32.eq(i32.load8(get(member), 1), i32.of(char.underscore)), isAll);
    const isAsLong = i32.eq(i32.sub(get(nameEnd), get(member)), i32.of(1 + name.length));
    return when(
      isAsLong,
      when(
        isName,
        branchIf(leave, get(escaped)),
        i32.store(get(entry), offsetOf(field), get(value)),
        i32.store(get(entry), offsetOf(field + 1), get(valueEnd)),
      ),
    );
  };

  const findRow = (leave: Label) =>
    sequence(
      i32.store(get(entry), offsetOf(found.row), get(at)),
      branchIf(leave, i32.gt(i32.add(get(entry), i32.of(2 * entryBytes)), i32.of(tableEnd))),
      ...[found.messageTime, found.messageId, found.receiptTime, found.size].map((field) =>
        i32.store(get(entry), offsetOf(field), i32.of(0)),
      ),
      set(member, i32.add(get(at), i32.of(1))),
      loop((again) =>
        sequence(
          passMember(leave),
          note('_messagetime', found.messageTime, leave),
          note('_messageid', found.messageId, leave),
          note('_receipttime', found.receiptTime, leave),
          note('_size', found.size, leave),
          set(member, i32.add(get(valueEnd), i32.of(2))),
          branchIf(again, i32.eq(i32.load8(get(valueEnd), 1), i32.of(char.comma))),
        ),
      ),
      branchIf(leave, i32.gt(i32.add(get(valueEnd), i32.of(betweenRows.length)), get(end))),
      branchIf(leave, i64.ne(i64.load(get(valueEnd)), i64.of(word(betweenRows.slice(0, 8))))),
      branchIf(leave, i64.ne(i64.load(get(valueEnd), 4), i64.of(word(betweenRows.slice(4))))),
      i32.store(get(entry), offsetOf(found.row + 1), get(member)),
      set(at, i32.add(get(valueEnd), i32.of(betweenRows.length - 1))),
      advance(entry, entryBytes),
    );

  return {
    parameters: 2,
    locals: 7,
    vectors: 0,
    name: 'find',
    body: sequence(
      set(entry, i32.of(tableAt)),
      block((leave) => loop((again) => sequence(findRow(leave), branch(again)))),
      get(entry),
    ),
  };
})();

const writeLines = ((): WasmFunction => {
  const [entry, end, line, row, length] = [0, 1, 2, 3, 4];
  return {
    parameters: 2,
    locals: 3,
    vectors: 0,
    name: 'writeLines',
    body: sequence(
      set(line, i32.of(linesAt)),
      block((leave) =>
        loop((again) =>
          sequence(
            branchIf(leave, i32.ge(get(entry), get(end))),
            set(row, i32.load(get(entry), found.row * bytesOf.i32)),
            set(length, i32.sub(i32.load(get(entry), (found.row + 1) * bytesOf.i32), get(row))),
            copy(get(line), get(row), get(length)),
            set(line, i32.add(get(line), get(length))),
            i32.store8(get(line), 0, i32.of(char.lineFeed)),
            advance(line, 1),
            advance(entry, entryBytes),
            branch(again),
          ),
        ),
      ),
      get(line),
    ),
  };
})();

function isOneOf(local: number, characters: string): Code {
  const tests = [...characters].map((character) => i32.eq(get(local), i32.of(character.charCodeAt(0))));
  return tests.reduce((left, right) => i32.or(left, right));
}

function fourBytes(characters: string): number {
  return Buffer.from(characters, 'latin1').readInt32LE();
}

function threeBytes(characters: string): number {
  return Buffer.from(characters, 'latin1').readUIntLE(0, 3);
}

function module(): object {
  return new WebAssembly.Module(wasmModule(memoryEnd / pageBytes, [plainEnd, hexDigits, findRows, writeLines]));
}
