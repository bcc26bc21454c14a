/** A set of ranks in [begin, end), a bit each, read in their order. */
export class RankSet {
  readonly #begin: number;
  readonly #words: Uint32Array;
  #size = 0;

  constructor(begin: number, end: number) {
    this.#begin = begin;
    this.#words = new Uint32Array(Math.ceil((end - begin) / 32));
  }

  get size(): number {
    return this.#size;
  }

  /** A rank that is not in it yet. */
  add(rank: number): void {
    const bit = rank - this.#begin;
    this.#words[bit >>> 5] = (this.#words[bit >>> 5] as number) | (1 << (bit & 31));
    this.#size++;
  }

  has(rank: number): boolean {
    const bit = rank - this.#begin;
    return (((this.#words[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) === 1;
  }

  /** Calls back for all but the first `skip`, lowest first, until `take` is false. */
  each(skip: number, take: (rank: number) => boolean): void {
    let left = skip;
    for (const [index, word] of this.#words.entries()) {
      const count = bitsOf(word);
      if (count <= left) {
        left -= count;
        continue;
      }
      for (let rest = word; rest !== 0; rest &= rest - 1) {
        if (left-- > 0) continue;
        const lowest = 31 - Math.clz32(rest & -rest);
        if (!take(this.#begin + index * 32 + lowest)) return;
      }
      left = 0;
    }
  }
}

/** How many bits of a word are set. */
function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
