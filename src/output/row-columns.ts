/**
 * Finds the values of the columns in a row without parsing the whole row. Most rows have the same field names in the
 * same order, so each name is first compared with the name at the same place in the previous row.
 *
 * If a row contains a name twice, the last value is used, as in JSON.parse. If the two names are spelled differently,
 * such as `_size` and `_Size`, the first value becomes a field without a column.
 */
import { char, occursAt, plainEnd } from '../base/json-bytes.ts';
import { foldedName } from './columns.ts';
import { afterString, nestedEnd, tokenStart, wordEnd } from './json-text.ts';

/** Kinds of JSON values. A `plain` string contains no backslashes, and an `escaped` string contains at least one. */
export const valueKind = { absent: 0, plain: 1, escaped: 2, number: 3, truth: 4, null: 5, nested: 6 } as const;

export type ValueKind = (typeof valueKind)[keyof typeof valueKind];

/** Field name that occurred in earlier rows. */
interface KnownName {
  /** The name as written in the row, including the quotes. */
  readonly bytes: Uint8Array;
  /** Index of the column with this name, or -1 if there is none. */
  readonly column: number;
}

/**
 * Maximum number of field names in the cache. A query can create field names from ids, so the cache could grow forever
 * without a limit.
 */
const maxKnownNames = 10_000;
const noName: KnownName = { bytes: Buffer.of(0), column: -1 };

export class RowColumns {
  /** Buffer that contains the current row. All positions in this class are indexes into this buffer. */
  bytes: Buffer = Buffer.alloc(0);
  view: DataView<ArrayBufferLike> = new DataView(new ArrayBuffer(0));
  /** Kind of each column's value. `starts` and `ends` contain the start and end of each value. */
  readonly kinds: Uint8Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** Start of each column's field name in the row: the position of the opening quote. */
  readonly nameStarts: Int32Array;
  /**
   * Fields of the current row that have no column. For each field, the list contains the start of its name and the end
   * of its value.
   */
  readonly others: number[] = [];

  readonly #columnOf: ReadonlyMap<string, number>;
  readonly #known = new Map<string, KnownName>();
  /** Field names of the previous row, in order. */
  readonly #order: KnownName[] = [];
  /**
   * For each column, the field name that supplied the column's current value. Several spellings of a name can map to
   * the same column.
   */
  readonly #filledBy: KnownName[];
  /** Kind of the most recently skipped value. */
  #kind: ValueKind = valueKind.absent;
  #memory: ArrayBufferLike | undefined;

  constructor(names: readonly string[]) {
    // If several columns have different spellings of one name, the first column gets the values. It is added last, so
    // that it replaces the others in the map.
    this.#columnOf = new Map(names.map((name, index) => [foldedName(name), index] as const).reverse());
    this.kinds = new Uint8Array(names.length);
    this.starts = new Int32Array(names.length);
    this.ends = new Int32Array(names.length);
    this.nameStarts = new Int32Array(names.length);
    this.#filledBy = names.map(() => noName);
  }

  /** Finds the values in a row. The results are valid until the next call. */
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

  /** Reads the field that begins at `at`. Returns the index after the field. */
  #readMember(place: number, at: number, end: number): number {
    const { bytes } = this;
    const name = this.#nameAt(place, at, end);
    const nameEnd = at + name.bytes.length;
    const colon = bytes[nameEnd] === char.colon ? nameEnd : tokenStart(bytes, nameEnd);
    const start = tokenStart(bytes, colon + 1);
    const valueEnd = this.#skipValue(start, end);
    const { column } = name;
    if (column < 0) {
      this.others.push(at, valueEnd);
      return valueEnd;
    }
    const isOther = this.kinds[column] !== valueKind.absent && this.#filledBy[column] !== name;
    if (isOther) this.others.push(this.nameStarts[column] as number, this.ends[column] as number);
    this.#filledBy[column] = name;
    this.kinds[column] = this.#kind;
    this.starts[column] = start;
    this.ends[column] = valueEnd;
    this.nameStarts[column] = at;
    return valueEnd;
  }

  #nameAt(place: number, at: number, end: number): KnownName {
    const expected = this.#order[place] ?? noName;
    if (occursAt(this.bytes, at, expected.bytes)) return expected;
    const nameEnd = afterString(this.bytes, this.view, at + 1, end);
    const text = this.bytes.toString('latin1', at, nameEnd);
    const name = this.#known.get(text) ?? this.#learn(text, at, nameEnd);
    if (place < maxKnownNames) this.#order[place] = name;
    return name;
  }

  #learn(text: string, at: number, end: number): KnownName {
    const name = JSON.parse(this.bytes.toString('utf8', at, end)) as string;
    const column = this.#columnOf.get(foldedName(name)) ?? -1;
    const known = { bytes: Buffer.from(this.bytes.subarray(at, end)), column };
    if (this.#known.size === maxKnownNames) {
      this.#known.clear();
      this.#order.length = 0;
    }
    this.#known.set(text, known);
    return known;
  }

  /** Skips the value that begins at `start`, and sets `#kind`. Returns the index after the value. */
  #skipValue(start: number, end: number): number {
    const { bytes, view } = this;
    switch (bytes[start]) {
      case char.quote: {
        const plain = plainEnd(bytes, view, start + 1, end);
        const isPlain = bytes[plain] === char.quote;
        this.#kind = isPlain ? valueKind.plain : valueKind.escaped;
        return isPlain ? plain + 1 : afterString(bytes, view, plain, end);
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

/** Maximum number of bytes by which the output of `writeRest` can be longer than the row. */
export const restBytes = 2;

/**
 * Writes some fields of a row as one JSON object. Returns the length of the object, or 0 if there are no fields. For
 * each field, `members` contains two positions: where the name starts, and where the value ends.
 */
export function writeRest(target: Buffer, bytes: Buffer, members: readonly number[]): number {
  let at = 0;
  for (let index = 0; index < members.length; index += 2) {
    target[at] = at === 0 ? char.objectStart : char.comma;
    at += 1 + bytes.copy(target, at + 1, members[index], members[index + 1]);
  }
  if (at > 0) target[at++] = char.objectEnd;
  return at;
}
