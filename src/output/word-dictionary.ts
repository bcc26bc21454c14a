/**
 * Dictionary of a column's values of eight bytes: the different values in order of their first occurrence. Reused for each column,
 * so that a row group allocates no memory.
 */
export class WordDictionary {
  /** The `size` different values, each as two 32-bit halves. */
  words = new Int32Array(0);
  /** For each value, its index in `words`. */
  indexes = new Int32Array(0);
  size = 0;
  /** Hash table of values, each as its index plus 1. 0 is free. */
  #places = new Int32Array(0);

  /** Builds the dictionary. Returns false if it would not halve the size of the values. The dictionary is then unusable. */
  take(halves: Int32Array): boolean {
    const count = halves.length / 2;
    const mostWords = count >> 1;
    this.#reserve(count, mostWords);
    const { words, indexes } = this;
    const places = this.#places;
    const mask = places.length - 1;
    let size = 0;
    for (let index = 0; index < count; index++) {
      const low = halves[2 * index] as number;
      const high = halves[2 * index + 1] as number;
      let place = hashOf(low, high) & mask;
      let word = (places[place] as number) - 1;
      while (word >= 0 && (words[2 * word] !== low || words[2 * word + 1] !== high)) {
        place = (place + 1) & mask;
        word = (places[place] as number) - 1;
      }
      if (word < 0) {
        if (size === mostWords) return false;
        word = size++;
        words[2 * word] = low;
        words[2 * word + 1] = high;
        places[place] = size;
      }
      indexes[index] = word;
    }
    this.size = size;
    const indexBits = count * Math.ceil(Math.log2(size));
    return size > 0 && 2 * (8 * size + indexBits / 8) <= 8 * count;
  }

  #reserve(count: number, mostWords: number): void {
    if (this.indexes.length < count) {
      const room = powerOfTwo(count);
      this.indexes = new Int32Array(room);
      this.words = new Int32Array(room);
    }
    const places = Math.max(leastPlaces, powerOfTwo(2 * mostWords));
    if (this.#places.length < places) this.#places = new Int32Array(places);
    else this.#places.fill(0);
  }
}

const leastPlaces = 16;

/** Rounds up to a power of two. */
function powerOfTwo(number: number): number {
  return 2 ** Math.ceil(Math.log2(number));
}

/** Separates values that differ only in their high half or by a power of two. */
function hashOf(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
