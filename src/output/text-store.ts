/**
 * Stores the texts of one Parquet column for a row group. Equal texts are stored once, unless most texts are distinct.
 */
import { copyBytes, writeText } from './json-text.ts';
import type { Bounds } from './parquet-footer.ts';
import { type PageWriter, usualPageBytes } from './parquet-pages.ts';

/** Number of texts after which equal texts are no longer detected if more than half of these texts are distinct. */
const textsOnTrial = 1_000;
/**
 * Maximum length in bytes of a text that is compared with earlier texts. A longer text is stored once for each row that
 * contains it.
 */
const maxSharedLength = 256;
/** Initial number of slots in the hash table. It must be a power of two. */
const initialSlots = 1_024;
/** Initial memory of a column in bytes. It is small, because a file may have hundreds of columns. */
const initialBytes = 4 * 1024;
const initialRows = 256;
const lengthBytes = 4;
const indexBytes = 4;

export class TextStore {
  #bytes = Buffer.allocUnsafeSlow(initialBytes);
  /** End of each stored text in `#bytes`. */
  #ends = new Int32Array(initialRows);
  #kept = 0;
  /** For each row that has a text, the index of this text among the stored texts. */
  #texts = new Int32Array(initialRows);
  #textRows = 0;
  /** One byte for each row: 1 if the row has a text, otherwise 0. */
  #present = new Uint8Array(initialRows);
  #rows = 0;
  /** Size in bytes that the column would have if every row stored its own text. */
  #plainBytes = 0;
  /** Hash table of the stored texts. A slot contains the index of a text plus 1, or 0 if the slot is free. */
  #slots = new Int32Array(initialSlots);
  #usedSlots = 0;
  #shares = true;

  /** Memory in bytes used by the column's rows. */
  get bytes(): number {
    return this.#end + indexBytes * (this.#kept + this.#textRows) + this.#rows;
  }

  /** Adds a text. */
  addText(bytes: Buffer, start: number, end: number): void {
    const at = this.#reserve(end - start);
    this.#addKept(at, copyBytes(this.#bytes, at, bytes, start, end));
  }

  /** Adds a JSON string that contains escapes. `start` and `end` exclude the quotes. */
  addEscaped(bytes: Buffer, view: DataView, start: number, end: number): void {
    const at = this.#reserve(end - start);
    this.#addKept(at, writeText(this.#bytes, at, bytes, view, start, end));
  }

  addNull(): void {
    this.#addRow(0);
  }

  /** Writes all texts of the column. Returns the smallest and largest text, or undefined if most texts are distinct. */
  write(pages: PageWriter): Bounds | undefined {
    const present = this.#present.subarray(0, this.#rows);
    if (!this.#repeats) {
      this.#writePlain(pages, present);
      return undefined;
    }
    if (this.#dictionaryPays) {
      pages.dictionary(this.#bytes.subarray(0, this.#end), this.#kept);
      pages.indexes(present, this.#texts.subarray(0, this.#textRows), this.#kept);
    } else {
      this.#writePlain(pages, present);
    }
    return this.#bounds();
  }

  clear(): void {
    this.#kept = 0;
    this.#textRows = 0;
    this.#rows = 0;
    this.#plainBytes = 0;
    this.#slots.fill(0);
    this.#usedSlots = 0;
    this.#shares = true;
  }

  /** End of the stored texts in `#bytes`. */
  get #end(): number {
    return this.#kept === 0 ? 0 : (this.#ends[this.#kept - 1] as number);
  }

  /** True if the column has at least twice as many rows as distinct texts. */
  get #repeats(): boolean {
    return this.#shares && this.#kept <= this.#rows / 2;
  }

  /** True if a dictionary reduces the column to half its size or less. */
  get #dictionaryPays(): boolean {
    const indexBits = this.#textRows * Math.ceil(Math.log2(this.#kept));
    return this.#kept > 0 && 2 * (this.#end + indexBits / 8) <= this.#plainBytes;
  }

  #writePlain(pages: PageWriter, present: Uint8Array): void {
    // If each row has its own stored text, the texts are in the order of the rows, so no lookup by index is needed.
    const isInOrder = this.#kept === this.#textRows;
    // The column is divided into pages of equal size, because a short last page would be compressed less well.
    const pageBytes = this.#plainBytes / Math.max(1, Math.round(this.#plainBytes / usualPageBytes));
    let [row, index] = [0, 0];
    while (row < present.length) {
      const [firstRow, first] = [row, index];
      let bytes = 0;
      for (; row < present.length; row++) {
        if (present[row] === 0) continue;
        if (bytes >= pageBytes) break;
        bytes += this.#length(this.#texts[index++] as number);
      }
      const values = isInOrder ? this.#inOrder(first, bytes) : this.#gathered(first, index, pages.memory(bytes));
      const rows = present.subarray(firstRow, row);
      pages.data({ encoding: 'PLAIN', present: rows, nulls: rows.length - (index - first), values });
    }
  }

  #inOrder(text: number, bytes: number): Uint8Array {
    const start = this.#start(text);
    return this.#bytes.subarray(start, start + bytes);
  }

  #gathered(from: number, to: number, page: Buffer): Uint8Array {
    let end = 0;
    for (let index = from; index < to; index++) {
      const text = this.#texts[index] as number;
      end = copyBytes(page, end, this.#bytes, this.#start(text), this.#ends[text] as number);
    }
    return page.subarray(0, end);
  }

  #bounds(): Bounds {
    const nulls = this.#rows - this.#textRows;
    if (this.#kept === 0) return { nulls };
    let [min, max] = [0, 0];
    for (let text = 1; text < this.#kept; text++) {
      if (this.#isLess(text, min)) min = text;
      else if (this.#isLess(max, text)) max = text;
    }
    return { min: this.#text(min), max: this.#text(max), nulls };
  }

  #isLess(left: number, right: number): boolean {
    const [leftEnd, rightEnd] = [this.#ends[left] as number, this.#ends[right] as number];
    let [one, other] = [this.#start(left) + lengthBytes, this.#start(right) + lengthBytes];
    while (one < leftEnd && other < rightEnd) {
      const difference = (this.#bytes[one++] as number) - (this.#bytes[other++] as number);
      if (difference !== 0) return difference < 0;
    }
    return one === leftEnd && other < rightEnd;
  }

  #text(text: number): Uint8Array {
    return this.#bytes.subarray(this.#start(text) + lengthBytes, this.#ends[text]);
  }

  /**
   * Returns the position in `#bytes` at which a text's entry begins. An entry consists of the length of the text,
   * followed by the text.
   */
  #start(text: number): number {
    return text === 0 ? 0 : (this.#ends[text - 1] as number);
  }

  /** Returns the size in bytes of a text's entry, including the length field. */
  #length(text: number): number {
    return (this.#ends[text] as number) - this.#start(text);
  }

  #keep(start: number, end: number): number {
    this.#bytes.writeInt32LE(end - start, start - lengthBytes);
    if (this.#kept === this.#ends.length)
      this.#ends = new Int32Array(this.#ends.buffer.transfer(2 * this.#ends.byteLength));
    this.#ends[this.#kept] = end;
    return this.#kept++;
  }

  /** Returns the index of an equal stored text. If there is none, stores the text and returns its index. */
  #shared(start: number, end: number): number {
    const mask = this.#slots.length - 1;
    let slot = this.#hash(start, end) & mask;
    for (;;) {
      const text = (this.#slots[slot] as number) - 1;
      if (text < 0) break;
      if (this.#isSame(text, start, end)) return text;
      slot = (slot + 1) & mask;
    }
    const text = this.#keep(start, end);
    this.#slots[slot] = text + 1;
    if (2 * ++this.#usedSlots > this.#slots.length) this.#enlargeTable();
    return text;
  }

  #isSame(text: number, start: number, end: number): boolean {
    const from = this.#start(text) + lengthBytes;
    if ((this.#ends[text] as number) - from !== end - start) return false;
    for (let at = start; at < end; at++) {
      if (this.#bytes[from + at - start] !== this.#bytes[at]) return false;
    }
    return true;
  }

  #enlargeTable(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    const mask = this.#slots.length - 1;
    for (let text = 0; text < this.#kept; text++) {
      if (this.#length(text) - lengthBytes > maxSharedLength) continue;
      let slot = this.#hash(this.#start(text) + lengthBytes, this.#ends[text] as number) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = text + 1;
    }
  }

  /** Computes the FNV-1a hash of a text, and mixes the high bits into the low bits. */
  #hash(start: number, end: number): number {
    let hash = 0x811c9dc5;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (this.#bytes[at] as number), 0x01000193);
    return hash ^ (hash >>> 15);
  }

  /** Reserves memory for a text, and returns the index in `#bytes` at which the caller must write the text. */
  #reserve(bytes: number): number {
    const start = this.#end;
    const end = start + lengthBytes + bytes;
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, start);
      this.#bytes = larger;
    }
    return start + lengthBytes;
  }

  #addKept(start: number, end: number): void {
    if (this.#textRows === this.#texts.length)
      this.#texts = new Int32Array(this.#texts.buffer.transfer(2 * this.#texts.byteLength));
    const length = end - start;
    this.#plainBytes += lengthBytes + length;
    this.#texts[this.#textRows++] =
      this.#shares && length <= maxSharedLength ? this.#shared(start, end) : this.#keep(start, end);
    this.#addRow(1);
    if (this.#textRows === textsOnTrial && this.#kept > textsOnTrial / 2) this.#shares = false;
  }

  #addRow(present: 0 | 1): void {
    if (this.#rows === this.#present.length)
      this.#present = new Uint8Array(this.#present.buffer.transfer(2 * this.#rows));
    this.#present[this.#rows++] = present;
  }
}
