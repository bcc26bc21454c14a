/**
 * The texts of one column, for the rows of a row group, as Parquet has them: each behind its length in four bytes. So what stands here
 * is a page, or a dictionary, as it is.
 *
 * Most columns of logs say the same few things again and again, and these stand in memory once. A column that turns out to say something
 * new in most rows is kept as it comes.
 */
import { copyBytes, writeText } from './json-text.ts';
import { type PageWriter, usualPageBytes } from './parquet-pages.ts';
import type { Bounds } from './row-groups.ts';

/** After so many texts it is known whether a column repeats itself. */
const textsOnTrial = 1_000;
/** Longer texts are not looked for. */
const longestShared = 256;
/** A power of two, as is every later size of the table. */
const leastPlaces = 1_024;
/** There may be hundreds of columns that hardly a row fills. */
const leastBytes = 4 * 1024;
const leastRows = 256;
const lengthBytes = 4;
const indexBytes = 4;

export class TextStore {
  #bytes = Buffer.allocUnsafeSlow(leastBytes);
  /** Of each text that is kept, where it ends in `#bytes`; the length of the next one begins there. */
  #ends = new Int32Array(leastRows);
  #kept = 0;
  /** Of each row that has one, which text. */
  #texts = new Int32Array(leastRows);
  #textRows = 0;
  /** By row: 1 where there is a text. */
  #present = new Uint8Array(leastRows);
  #rows = 0;
  /** What the texts of all rows take, with their lengths. */
  #plainBytes = 0;
  /** Texts that are looked for by their hash, each as its index and 1; 0 is free. */
  #places = new Int32Array(leastPlaces);
  #placed = 0;
  #shares = true;

  /** Bytes of memory that the rows take. */
  get bytes(): number {
    return this.#end + indexBytes * (this.#kept + this.#textRows) + this.#rows;
  }

  /** Adds the bytes that stand there. */
  add(bytes: Buffer, start: number, end: number): void {
    const at = this.#reserve(end - start);
    this.#addKept(at, copyBytes(this.#bytes, at, bytes, start, end));
  }

  /** Adds what a JSON string says whose text, inside of its quotes, stands there. */
  addEscaped(bytes: Buffer, view: DataView, start: number, end: number): void {
    const at = this.#reserve(end - start);
    this.#addKept(at, writeText(this.#bytes, at, bytes, view, start, end));
  }

  addNull(): void {
    this.#growRows();
    this.#present[this.#rows++] = 0;
  }

  /** Writes the rows. Bounds of texts that hardly repeat, such as whole messages, help nobody who looks for one, and there are none. */
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
    this.#places.fill(0);
    this.#placed = 0;
    this.#shares = true;
  }

  /** Where the texts that are kept end. */
  get #end(): number {
    return this.#kept === 0 ? 0 : (this.#ends[this.#kept - 1] as number);
  }

  /** Of long texts a row group may have fewer than are on trial. */
  get #repeats(): boolean {
    return this.#shares && this.#kept <= this.#rows / 2;
  }

  /** Where it halves what there is to pack. */
  get #dictionaryPays(): boolean {
    const indexBits = this.#textRows * Math.ceil(Math.log2(this.#kept));
    return this.#kept > 0 && 2 * (this.#end + indexBits / 8) <= this.#plainBytes;
  }

  #writePlain(pages: PageWriter, present: Uint8Array): void {
    // Where each row has a text of its own they stand in the order of rows.
    const isInOrder = this.#kept === this.#textRows;
    // As many pages as come next to their usual size, and all of one: a short one at the end would pack worse.
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
      const values = isInOrder ? this.#standing(first, bytes) : this.#gathered(first, index, pages.memory(bytes));
      const rows = present.subarray(firstRow, row);
      pages.data({ encoding: 'PLAIN', present: rows, nulls: rows.length - (index - first), values });
    }
  }

  #standing(text: number, bytes: number): Uint8Array {
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
    let [least, greatest] = [0, 0];
    for (let text = 1; text < this.#kept; text++) {
      if (this.#isLess(text, least)) least = text;
      else if (this.#isLess(greatest, text)) greatest = text;
    }
    return { least: this.#text(least), greatest: this.#text(greatest), nulls };
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

  /** Where the text's length stands. */
  #start(text: number): number {
    return text === 0 ? 0 : (this.#ends[text - 1] as number);
  }

  /** With that of the length. */
  #length(text: number): number {
    return (this.#ends[text] as number) - this.#start(text);
  }

  #keep(start: number, end: number): number {
    this.#bytes.writeInt32LE(end - start, start - lengthBytes);
    if (this.#kept === this.#ends.length) this.#ends = twice(this.#ends);
    this.#ends[this.#kept] = end;
    return this.#kept++;
  }

  /** The text that stands last in memory, or the same one where it was there before. */
  #shared(start: number, end: number): number {
    const mask = this.#places.length - 1;
    let place = this.#hash(start, end) & mask;
    for (;;) {
      const text = (this.#places[place] as number) - 1;
      if (text < 0) break;
      if (this.#isSame(text, start, end)) return text;
      place = (place + 1) & mask;
    }
    const text = this.#keep(start, end);
    this.#places[place] = text + 1;
    if (2 * ++this.#placed > this.#places.length) this.#spread();
    return text;
  }

  #isSame(text: number, start: number, end: number): boolean {
    const from = this.#start(text) + lengthBytes;
    if ((this.#ends[text] as number) - from !== end - start) return false;
    for (let place = start; place < end; place++) {
      if (this.#bytes[from + place - start] !== this.#bytes[place]) return false;
    }
    return true;
  }

  #spread(): void {
    this.#places = new Int32Array(2 * this.#places.length);
    const mask = this.#places.length - 1;
    for (let text = 0; text < this.#kept; text++) {
      if (this.#length(text) - lengthBytes > longestShared) continue;
      let place = this.#hash(this.#start(text) + lengthBytes, this.#ends[text] as number) & mask;
      while (this.#places[place] !== 0) place = (place + 1) & mask;
      this.#places[place] = text + 1;
    }
  }

  /** FNV-1a, with the high bits brought down. */
  #hash(start: number, end: number): number {
    let hash = 0x811c9dc5;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (this.#bytes[at] as number), 0x01000193);
    return hash ^ (hash >>> 15);
  }

  /** Makes room for a text of so many bytes, and returns where it goes. */
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
    this.#growRows();
    if (this.#textRows === this.#texts.length) this.#texts = twice(this.#texts);
    const length = end - start;
    this.#plainBytes += lengthBytes + length;
    this.#texts[this.#textRows++] =
      this.#shares && length <= longestShared ? this.#shared(start, end) : this.#keep(start, end);
    this.#present[this.#rows++] = 1;
    if (this.#textRows === textsOnTrial && this.#kept > textsOnTrial / 2) this.#shares = false;
  }

  #growRows(): void {
    if (this.#rows < this.#present.length) return;
    const present = new Uint8Array(2 * this.#rows);
    present.set(this.#present);
    this.#present = present;
  }
}

function twice(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}
