/**
 * Stores the integers or doubles of one Parquet column for a row group. Integers are written as two 32-bit halves,
 * because creating BigInts is slow.
 */
import type { Bounds } from './parquet-footer.ts';
import type { PageWriter } from './parquet-pages.ts';

const half = 2 ** 32;
const chunkDigits = 6;
const powers: readonly number[] = Array.from({ length: chunkDigits + 1 }, (_, digits) => 10 ** digits);
const maxDigits = 19;
const zero = 0x30;
const minus = 0x2d;
const initialRows = 256;

export class WordStore {
  /** 64-bit values of the rows that have a value. */
  #integers = new BigInt64Array(initialRows);
  #doubles = new Float64Array(this.#integers.buffer);
  /** The same memory as `#integers`, seen as 32-bit numbers. The lower half of each integer comes first. */
  #halves = new Int32Array(this.#integers.buffer);
  #words = 0;
  /** One byte for each row: 1 if the row has a value, otherwise 0. */
  #present = new Uint8Array(initialRows);
  #rows = 0;
  readonly #kind: 'integers' | 'doubles';

  constructor(kind: 'integers' | 'doubles' = 'integers') {
    this.#kind = kind;
  }

  /** Memory in bytes used by the column's rows. */
  get bytes(): number {
    return BigInt64Array.BYTES_PER_ELEMENT * this.#words + this.#rows;
  }

  addNull(): void {
    this.#addRow(0);
  }

  add(value: bigint): void {
    const word = this.#addWord();
    this.#integers[word] = value;
  }

  addDouble(value: number): void {
    const word = this.#addWord();
    this.#doubles[word] = value;
  }

  /**
   * Parses an integer from its decimal digits, and adds it to the column. Returns false if the text is not a 64-bit
   * integer.
   */
  addDigits(bytes: Uint8Array, start: number, end: number): boolean {
    const isNegative = bytes[start] === minus;
    const first = isNegative ? start + 1 : start;
    if (first >= end || end - first > maxDigits) return false;
    let high = 0;
    let low = 0;
    for (let at = first; at < end; ) {
      const to = Math.min(at + chunkDigits, end);
      const power = powers[to - at] as number;
      let chunk = 0;
      for (; at < to; at++) {
        const digit = (bytes[at] as number) - zero;
        if (digit < 0 || digit > 9) return false;
        chunk = 10 * chunk + digit;
      }
      const sum = low * power + chunk;
      const carry = Math.floor(sum / half);
      low = sum - carry * half;
      high = high * power + carry;
    }
    if (high >= half / 2 && !(isNegative && high === half / 2 && low === 0)) return false;
    const place = 2 * this.#addWord();
    this.#halves[place] = isNegative ? -low : low;
    this.#halves[place + 1] = isNegative ? ~high + (low === 0 ? 1 : 0) : high;
    return true;
  }

  /** Writes all values of the column, and returns the smallest and largest value. */
  write(pages: PageWriter, dictionary: WordDictionary): Bounds {
    const present = this.#present.subarray(0, this.#rows);
    const halves = this.#halves.subarray(0, 2 * this.#words);
    if (dictionary.take(halves)) {
      pages.dictionary(bytesOf(dictionary.words.subarray(0, 2 * dictionary.size)), dictionary.size);
      pages.indexes(present, dictionary.indexes.subarray(0, this.#words), dictionary.size);
    } else {
      pages.words(present, bytesOf(halves));
    }
    return this.#kind === 'doubles' ? this.doubleBounds : this.integerBounds;
  }

  /** Minimum and maximum of the stored integers. */
  get integerBounds(): Bounds {
    const nulls = this.#rows - this.#words;
    if (this.#words === 0) return { nulls };
    let [min, max] = [0, 0];
    for (let word = 1; word < this.#words; word++) {
      if (this.#isLess(word, min)) min = word;
      else if (this.#isLess(max, word)) max = word;
    }
    return { min: this.#integers[min], max: this.#integers[max], nulls };
  }

  /**
   * Returns the smallest and the largest double. As Parquet requires, NaN is ignored. If the smallest value is zero, it
   * is returned as -0; if the largest value is zero, it is returned as +0.
   */
  get doubleBounds(): Bounds {
    const doubles = this.#doubles.subarray(0, this.#words);
    const nulls = this.#rows - this.#words;
    let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    let nans = 0;
    for (const value of doubles) {
      if (Number.isNaN(value)) nans++;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    if (nans === doubles.length) return { nulls, nans };
    return { min: min === 0 ? -0 : min, max: max === 0 ? 0 : max, nulls, nans };
  }

  clear(): void {
    this.#rows = 0;
    this.#words = 0;
  }

  #isLess(left: number, right: number): boolean {
    const halves = this.#halves;
    const difference = (halves[2 * left + 1] as number) - (halves[2 * right + 1] as number);
    if (difference !== 0) return difference < 0;
    return (halves[2 * left] as number) >>> 0 < (halves[2 * right] as number) >>> 0;
  }

  /** Adds a row that has a value, and returns the index at which the caller must store the value. */
  #addWord(): number {
    this.#addRow(1);
    if (this.#words === this.#integers.length) {
      const memory = this.#integers.buffer.transfer(2 * this.#integers.byteLength);
      this.#integers = new BigInt64Array(memory);
      this.#doubles = new Float64Array(memory);
      this.#halves = new Int32Array(memory);
    }
    return this.#words++;
  }

  #addRow(present: 0 | 1): void {
    if (this.#rows === this.#present.length)
      this.#present = new Uint8Array(this.#present.buffer.transfer(2 * this.#rows));
    this.#present[this.#rows++] = present;
  }
}

function bytesOf(halves: Int32Array<ArrayBuffer>): Uint8Array {
  return new Uint8Array(halves.buffer, halves.byteOffset, halves.byteLength);
}

/** Dictionary of the distinct 64-bit values of a column. Its memory is reused for each column. */
export class WordDictionary {
  /** Distinct values in the order of their first occurrence. Each value is stored as two 32-bit halves. */
  words = new Int32Array(0);
  /** Index of each row's value in `words`. */
  indexes = new Int32Array(0);
  size = 0;
  /** Hash table of the values. A slot contains the index of a value plus 1, or 0 if the slot is free. */
  #slots = new Int32Array(0);

  /**
   * Collects the distinct values of a column. Returns false if a dictionary would not reduce the column to half its
   * size.
   */
  take(halves: Int32Array): boolean {
    const count = halves.length / 2;
    const maxWords = count >> 1;
    this.#reserve(count, maxWords);
    const { words, indexes } = this;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let size = 0;
    for (let index = 0; index < count; index++) {
      const low = halves[2 * index] as number;
      const high = halves[2 * index + 1] as number;
      let slot = hashOf(low, high) & mask;
      let word = (slots[slot] as number) - 1;
      while (word >= 0 && (words[2 * word] !== low || words[2 * word + 1] !== high)) {
        slot = (slot + 1) & mask;
        word = (slots[slot] as number) - 1;
      }
      if (word < 0) {
        if (size === maxWords) return false;
        word = size++;
        words[2 * word] = low;
        words[2 * word + 1] = high;
        slots[slot] = size;
      }
      indexes[index] = word;
    }
    this.size = size;
    const indexBits = count * Math.ceil(Math.log2(size));
    return size > 0 && 2 * (8 * size + indexBits / 8) <= 8 * count;
  }

  #reserve(count: number, maxWords: number): void {
    if (this.indexes.length < count) {
      const capacity = powerOfTwo(count);
      this.indexes = new Int32Array(capacity);
      this.words = new Int32Array(capacity);
    }
    const slots = Math.max(minSlots, powerOfTwo(2 * maxWords));
    if (this.#slots.length < slots) this.#slots = new Int32Array(slots);
    else this.#slots.fill(0);
  }
}

const minSlots = 16;

function powerOfTwo(number: number): number {
  return 2 ** Math.ceil(Math.log2(number));
}

/** Computes the hash of a 64-bit value. */
function hashOf(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
