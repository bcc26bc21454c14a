/**
 * Finds where the values of columns stand in a row, and what stands in it beside them. The row is not parsed: names are compared as bytes,
 * mostly with those that the row before had at the same place, and values are passed over to their ends.
 *
 * Of a name that stands twice in a row the last one counts, as JSON.parse has it. Where two names that only differ in the case of
 * letters mean the same column, the second one counts as a member without one.
 */

import { char, plainEnd } from '../base/json-bytes.ts';
import { foldedName } from './columns.ts';
import { nestedEnd, stringEnd, tokenStart, wordEnd } from './json-text.ts';

/** What stands as a value; `plain` and `escaped` are strings without and with a backslash in them. */
export const valueKind = { absent: 0, plain: 1, escaped: 2, number: 3, truth: 4, null: 5, nested: 6 } as const;

export type ValueKind = (typeof valueKind)[keyof typeof valueKind];

/** A name that rows had. */
interface KnownName {
  /** As it stands in a row, with its quotes. */
  readonly bytes: Uint8Array;
  /** Index of its column, or -1. */
  readonly column: number;
}

/** Rows can have names without number, as where ids are names. */
const mostKnownNames = 10_000;
const noName: KnownName = { bytes: Buffer.of(0), column: -1 };

export class RowColumns {
  /** The memory in which the row stands; all indices here are of it. */
  bytes: Buffer = Buffer.alloc(0);
  view: DataView<ArrayBufferLike> = new DataView(new ArrayBuffer(0));
  /** By column: what its value is, and from where to where it stands, with its quotes where it has any. */
  readonly kinds: Uint8Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** By column: from where to where its name stands, with its quotes. */
  readonly nameStarts: Int32Array;
  readonly nameEnds: Int32Array;
  /** Members that have no column, from their name to the end of their value: start, end, start, end… */
  readonly others: number[] = [];

  readonly #columnOf: ReadonlyMap<string, number>;
  readonly #known = new Map<string, KnownName>();
  /** The names of the row before, in their order. */
  readonly #order: KnownName[] = [];
  /** By column: which name has filled it. */
  readonly #filledBy: KnownName[];
  /** Of the value that was passed last. */
  #kind: ValueKind = valueKind.absent;
  #memory: ArrayBufferLike | undefined;

  constructor(names: readonly string[]) {
    // An exact name comes last, and so wins.
    const folded = names.map((name, index) => [foldedName(name), index] as const);
    this.#columnOf = new Map([...folded.reverse(), ...names.map((name, index) => [name, index] as const)]);
    this.kinds = new Uint8Array(names.length);
    this.starts = new Int32Array(names.length);
    this.ends = new Int32Array(names.length);
    this.nameStarts = new Int32Array(names.length);
    this.nameEnds = new Int32Array(names.length);
    this.#filledBy = names.map(() => noName);
  }

  /** Takes in a row. What it found is good until the next one, and while the row's bytes are. */
  read(row: Uint8Array): void {
    if (row.buffer !== this.#memory) {
      this.#memory = row.buffer;
      this.bytes = Buffer.from(row.buffer);
      this.view = new DataView(row.buffer);
    }
    this.kinds.fill(valueKind.absent);
    this.others.length = 0;
    const { bytes } = this;
    const end = row.byteOffset + row.byteLength;
    let at = tokenStart(bytes, row.byteOffset + 1);
    for (let place = 0; bytes[at] !== char.objectEnd; place++) {
      if (bytes[at] === char.comma) at = tokenStart(bytes, at + 1);
      at = tokenStart(bytes, this.#readMember(place, at, end));
    }
  }

  /** The member that begins at `at`; returns the index behind it. */
  #readMember(place: number, at: number, end: number): number {
    const { bytes } = this;
    const name = this.#nameAt(place, at, end);
    const nameEnd = at + name.bytes.length;
    const colon = bytes[nameEnd] === char.colon ? nameEnd : tokenStart(bytes, nameEnd);
    const start = tokenStart(bytes, colon + 1);
    const valueEnd = this.#passValue(start, end);
    const { column } = name;
    if (column < 0 || (this.kinds[column] !== valueKind.absent && this.#filledBy[column] !== name)) {
      this.others.push(at, valueEnd);
      return valueEnd;
    }
    this.#filledBy[column] = name;
    this.kinds[column] = this.#kind;
    this.starts[column] = start;
    this.ends[column] = valueEnd;
    this.nameStarts[column] = at;
    this.nameEnds[column] = nameEnd;
    return valueEnd;
  }

  #nameAt(place: number, at: number, end: number): KnownName {
    const expected = this.#order[place] ?? noName;
    if (standsAt(this.bytes, at, expected.bytes)) return expected;
    const nameEnd = stringEnd(this.bytes, this.view, at + 1, end);
    const text = this.bytes.toString('latin1', at, nameEnd);
    const name = this.#known.get(text) ?? this.#learn(text, at, nameEnd);
    if (place < mostKnownNames) this.#order[place] = name;
    return name;
  }

  #learn(text: string, at: number, end: number): KnownName {
    const name = JSON.parse(this.bytes.toString('utf8', at, end)) as string;
    const column = this.#columnOf.get(name) ?? this.#columnOf.get(foldedName(name)) ?? -1;
    const known = { bytes: Buffer.from(this.bytes.subarray(at, end)), column };
    if (this.#known.size === mostKnownNames) {
      this.#known.clear();
      this.#order.length = 0;
    }
    this.#known.set(text, known);
    return known;
  }

  /** Returns the index behind the value that begins at `start`, and notes its kind. */
  #passValue(start: number, end: number): number {
    const { bytes, view } = this;
    switch (bytes[start]) {
      case char.quote: {
        const plain = plainEnd(bytes, view, start + 1, end);
        const isPlain = bytes[plain] === char.quote;
        this.#kind = isPlain ? valueKind.plain : valueKind.escaped;
        return isPlain ? plain + 1 : stringEnd(bytes, view, plain, end);
      }
      case char.objectStart:
      case char.arrayStart:
        this.#kind = valueKind.nested;
        return nestedEnd(bytes, view, start, end);
      case char.t:
      case char.f:
        this.#kind = valueKind.truth;
        return wordEnd(bytes, start);
      case char.n:
        this.#kind = valueKind.null;
        return wordEnd(bytes, start);
      default:
        this.#kind = valueKind.number;
        return wordEnd(bytes, start);
    }
  }
}

function standsAt(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let place = 0; place < expected.length; place++) {
    if (bytes[at + place] !== expected[place]) return false;
  }
  return true;
}
