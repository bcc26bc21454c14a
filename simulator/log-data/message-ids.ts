/**
 * Unique message ids. Message numbers are shuffled, so that the ids look random but never repeat. Ids are 64-bit
 * numbers, as in real services.
 */

const half = 1_000_000_000;

export class MessageIds {
  /** Result of `shuffle`, an eighteen-digit number. `high` contains the first nine digits, and `low` the last nine. */
  high = 0;
  low = 0;
  readonly #keys: readonly [number, number, number, number];

  constructor(seed: number) {
    const key = (salt: number) => mixed(seed | 0, salt);
    this.#keys = [key(0x51ed270b), key(0x2545f491), key(0x1b873593), key(0x7feb352d)];
  }

  /** Shuffles a message number, and stores the digits of the result in `high` and `low`. */
  shuffle(number: number): void {
    const [first, second, third, fourth] = this.#keys;
    let high = Math.floor(number / half);
    let low = number - high * half;
    high = added(high, mixed(low, first));
    low = added(low, mixed(high, second));
    high = added(high, mixed(low, third));
    low = added(low, mixed(high, fourth));
    this.high = high;
    this.low = low;
  }

  /** Returns the eighteen digits of a shuffled number. */
  digits(number: number): string {
    this.shuffle(number);
    return String(this.high).padStart(9, '0') + String(this.low).padStart(9, '0');
  }
}

function added(value: number, word: number): number {
  const sum = value + (word % half);
  return sum >= half ? sum - half : sum;
}

export function mixed(value: number, key: number): number {
  let hash = Math.imul(value ^ key, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
