/**
 * Finds rows of a page of messages (2.5) that are written as the service writes them: `{"map":{"name":"value",…}}`, only strings, and no
 * whitespace. It looks at sixteen bytes at a time, which JavaScript cannot; nearly all rows are such rows, and this is where nearly
 * all time of reading a page goes. What it does not find is left to `json-reader.ts`, which reads everything and says what is wrong.
 * Those that it has found it writes as lines, too, for files that have rows as they came.
 *
 * Invariant: a row that is found is JSON without a mistake, and another row follows it.
 */

import { char } from '../base/json-bytes.ts';
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

/** Where each thing of a row stands in its entry of the table: its begin, and the end right behind it. None where the begin is 0. */
export const found = { row: 0, messageTime: 2, messageId: 4, receiptTime: 6, size: 8 } as const;
/** Length of an entry, in numbers of 32 bits. */
export const entryLength = 10;

const pageBytes = 65_536;
/** Of a chunk so much is looked at at once. Behind it is room for what a look of sixteen bytes sees of what follows. */
const textBytes = 6 * pageBytes;
const tableAt = textBytes + 64;
const tableEnd = 8 * pageBytes;
/** Rows with their line feeds, which are shorter than what stands between rows. */
const linesAt = tableEnd;
const memoryEnd = linesAt + textBytes;
const bytesOf = { i32: 4 } as const;
const entryBytes = entryLength * bytesOf.i32;
/** So many are found at once at most. */
export const mostRows: number = Math.floor((tableEnd - tableAt) / entryBytes);

/** What separates the end of a row's last value from the next row. */
const betweenRows = '"}},{"map":{';
/** From the end of one row to the begin of the next. */
export const gapLength: number = betweenRows.length - 3;

/** Of the engine; TypeScript knows it of browsers alone. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Looks for rows from `at` to `end`. Returns where the table ends; there stands where the next row begins. */
  readonly find: (at: number, end: number) => number;
  /** Writes rows as lines, from the entry at `entry` of the table to the one at `end`. Returns where the lines end. */
  readonly writeLines: (entry: number, end: number) => number;
}

export class RowFinder {
  /** An entry for each row that was found: indices behind `origin`. */
  readonly table: Int32Array;
  /** Which byte of those that were given the table counts from. */
  origin = 0;
  /** Behind the rows that were found: where the row begins that has to be read otherwise. */
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
   * How many rows were found, one behind the other, from `at` on, where one has its `{`. The bytes are taken to be the same as long as
   * they are the same object.
   */
  find(bytes: Uint8Array, at: number, end: number): number {
    const isHeld = bytes === this.#bytes && at >= this.origin && at < this.origin + this.#length;
    if (!isHeld) this.#take(bytes, at, end);
    const rows = this.#findFrom(at);
    if (rows > 0 || !isHeld || this.origin + this.#length === end) return rows;
    this.#take(bytes, at, end);
    return this.#findFrom(at);
  }

  /** Rows that were found, from one entry of the table to another, each with a line feed behind it. Good until the next call. */
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

/** The word of eight characters as the machine loads it. */
function word(characters: string): bigint {
  return Buffer.from(characters, 'latin1').readBigUInt64LE();
}

/** Index of the first byte from `at` on that is no plain text of a string (`json-bytes.ts`); not before `end` where there is none. */
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

/** Whether four hexadecimal digits stand at `at`. */
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

  /** Behind a backslash at `valueEnd`: passes over the escape, or leaves. */
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

  /** From the name's quote at `member` to the value's closing quote at `valueEnd`. */
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

  /** Notes where the value stands when the name is this one, in small letters or in capitals (`page-row.ts`). */
  const note = (name: string, field: number, leave: Label) => {
    // Behind the quote and the underscore; what it does not compare, the length has told but for the letters between.
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
