/**
 * Integers of 64 bits, for the rows of a row group, in 8 bytes each: as BigInts they would take four times the memory, and longer to make
 * than to read. So digits are gathered in two halves of 32 bits.
 */

const half = 2 ** 32;
const chunkDigits = 6;
const powers: readonly number[] = Array.from({ length: chunkDigits + 1 }, (_, digits) => 10 ** digits);
const mostDigits = 19;
const zero = 0x30;
const minus = 0x2d;

export class IntegerStore {
  #values = new BigInt64Array(1_024);
  #halves = new Int32Array(this.#values.buffer);
  /** By row: 1 where there is none. */
  #nulls = new Uint8Array(1_024);
  #rows = 0;
  #nullRows = 0;

  addNull(): void {
    this.#grow();
    this.#nulls[this.#rows] = 1;
    this.#values[this.#rows++] = 0n;
    this.#nullRows++;
  }

  add(value: bigint): void {
    this.#grow();
    this.#nulls[this.#rows] = 0;
    this.#values[this.#rows++] = value;
  }

  /** Adds the number whose digits stand there, behind a minus where it has one. Adds nothing, and returns false, where anything else does. */
  addDigits(bytes: Uint8Array, start: number, end: number): boolean {
    const isNegative = bytes[start] === minus;
    const first = isNegative ? start + 1 : start;
    if (first >= end || end - first > mostDigits) return false;
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
    this.#grow();
    const place = 2 * this.#rows;
    this.#halves[place] = isNegative ? -low : low;
    this.#halves[place + 1] = isNegative ? ~high + (low === 0 ? 1 : 0) : high;
    this.#nulls[this.#rows++] = 0;
    return true;
  }

  /** By row; good until the next row. */
  values(): BigInt64Array | (bigint | null)[] {
    const values = this.#values.subarray(0, this.#rows);
    if (this.#nullRows === 0) return values;
    return Array.from(values, (value, row) => (this.#nulls[row] === 1 ? null : value));
  }

  clear(): void {
    this.#rows = 0;
    this.#nullRows = 0;
  }

  #grow(): void {
    if (this.#rows < this.#values.length) return;
    const values = new BigInt64Array(2 * this.#rows);
    values.set(this.#values);
    const nulls = new Uint8Array(2 * this.#rows);
    nulls.set(this.#nulls);
    this.#values = values;
    this.#halves = new Int32Array(values.buffer);
    this.#nulls = nulls;
  }
}
