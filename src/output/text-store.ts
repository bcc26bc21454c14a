/**
 * The texts of one column, for the rows of a row group. Most columns of logs say the same few things again and again, and these stand in
 * memory once: who writes a dictionary then finds the same object again, which is faster than to compare texts. A column that turns
 * out to say something new in most rows is kept as it comes.
 */
import { copyBytes, writeText } from './json-text.ts';

/** After so many rows it is known whether a column repeats itself. */
const rowsOnTrial = 1_000;
/** Longer texts are not looked for. */
const longestShared = 256;
/** A power of two, as is every later size of the table. */
const leastPlaces = 1_024;

export class TextStore {
  #bytes = Buffer.allocUnsafeSlow(16 * 1024);
  /** Of each text that is kept, where it ends in `#bytes`; the next one begins there. */
  readonly #ends: number[] = [];
  /** By row, which text it has, or -1. */
  readonly #texts: number[] = [];
  /** Texts by their hash, each as its index and 1; 0 is free. */
  #places = new Int32Array(leastPlaces);
  #shares = true;

  /** Bytes of text in memory. */
  get bytes(): number {
    return this.#ends.at(-1) ?? 0;
  }

  /** Whether a dictionary may pay: of long texts a row group has fewer than are on trial. */
  get repeats(): boolean {
    return this.#shares && this.#ends.length <= this.#texts.length / 2;
  }

  /** Adds the bytes that stand there. */
  add(bytes: Buffer, start: number, end: number): void {
    const at = this.#reserve(end - start);
    this.#end(at, copyBytes(this.#bytes, at, bytes, start, end));
  }

  /** Adds what a JSON string says whose text, inside of its quotes, stands there. */
  addEscaped(bytes: Buffer, view: DataView, start: number, end: number): void {
    const at = this.#reserve(end - start);
    this.#end(at, writeText(this.#bytes, at, bytes, view, start, end));
  }

  addNull(): void {
    this.#texts.push(-1);
  }

  /** By row; good until `clear`. */
  values(): (Uint8Array | null)[] {
    let start = 0;
    const texts = this.#ends.map((end) => {
      const text = this.#bytes.subarray(start, end);
      start = end;
      return text;
    });
    return this.#texts.map((text) => texts[text] ?? null);
  }

  clear(): void {
    this.#ends.length = 0;
    this.#texts.length = 0;
    this.#places.fill(0);
    this.#shares = true;
  }

  #keep(end: number): number {
    return this.#ends.push(end) - 1;
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
    const text = this.#keep(end);
    this.#places[place] = text + 1;
    if (2 * this.#ends.length > this.#places.length) this.#spread();
    return text;
  }

  #isSame(text: number, start: number, end: number): boolean {
    const from = text === 0 ? 0 : (this.#ends[text - 1] as number);
    if ((this.#ends[text] as number) - from !== end - start) return false;
    for (let place = start; place < end; place++) {
      if (this.#bytes[from + place - start] !== this.#bytes[place]) return false;
    }
    return true;
  }

  #spread(): void {
    this.#places = new Int32Array(2 * this.#places.length);
    const mask = this.#places.length - 1;
    let start = 0;
    for (const [text, end] of this.#ends.entries()) {
      let place = this.#hash(start, end) & mask;
      while (this.#places[place] !== 0) place = (place + 1) & mask;
      this.#places[place] = text + 1;
      start = end;
    }
  }

  /** FNV-1a, with the high bits brought down. */
  #hash(start: number, end: number): number {
    let hash = 0x811c9dc5;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (this.#bytes[at] as number), 0x01000193);
    return hash ^ (hash >>> 15);
  }

  /** Makes room for so many bytes, and returns where they go. */
  #reserve(bytes: number): number {
    const start = this.bytes;
    if (start + bytes > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(start + bytes, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, start);
      this.#bytes = larger;
    }
    return start;
  }

  #end(start: number, end: number): void {
    this.#texts.push(this.#shares && end - start <= longestShared ? this.#shared(start, end) : this.#keep(end));
    if (this.#texts.length === rowsOnTrial && this.#ends.length > rowsOnTrial / 2) this.#shares = false;
  }
}
