/**
 * Sorted set of ranks. The rank of a message is the number of newer messages. The set consists of chunks. A chunk with
 * few ranks stores them as a list of numbers, and a chunk with many ranks stores them as a bit set.
 */

const chunkRanks = 65_536;
/** Maximum number of ranks that a chunk stores as a list of numbers. Above this number, a bit set takes less memory. */
const maxListed = chunkRanks / 16;

export class RankChunks {
  readonly #chunks = new Map<number, Chunk>();
  /** Numbers of the existing chunks. */
  #order: number[] = [];
  #isSorted = true;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(rank: number): void {
    const number = Math.floor(rank / chunkRanks);
    let chunk = this.#chunks.get(number);
    if (!chunk) {
      chunk = new Chunk();
      this.#chunks.set(number, chunk);
      this.#isSorted &&= number > (this.#order.at(-1) ?? -1);
      this.#order.push(number);
    }
    chunk.add(rank - number * chunkRanks);
    this.#size++;
  }

  /** Calls `take` for each rank after the first `skip` ranks, in ascending order. Stops when `take` returns false. */
  each(skip: number, take: (rank: number) => boolean): void {
    if (!this.#isSorted) this.#order.sort((left, right) => left - right);
    this.#isSorted = true;
    let left = skip;
    for (const number of this.#order) {
      const chunk = this.#chunks.get(number) as Chunk;
      if (chunk.size <= left) {
        left -= chunk.size;
        continue;
      }
      const takeNext = (entry: number) => left-- > 0 || take(number * chunkRanks + entry);
      if (!chunk.each(takeNext)) return;
      left = 0;
    }
  }
}

class Chunk {
  size = 0;
  /** Ranks in the chunk if they are stored as a list. Only the first `size` elements are in use. */
  #listed = new Uint16Array(4);
  #bits: Uint32Array | undefined;

  add(entry: number): void {
    if (!this.#bits && this.size === maxListed) this.#bits = this.#bitsOfListed();
    if (this.#bits) setBit(this.#bits, entry);
    else this.#insert(entry);
    this.size++;
  }

  /** Calls `take` for each message in the chunk. As soon as `take` returns false, stops and returns false. */
  each(take: (entry: number) => boolean): boolean {
    const bits = this.#bits;
    if (!bits) return this.#listed.subarray(0, this.size).every((entry) => take(entry));
    for (const [index, word] of bits.entries()) {
      for (let rest = word; rest !== 0; rest &= rest - 1) {
        if (!take(index * 32 + 31 - Math.clz32(rest & -rest))) return false;
      }
    }
    return true;
  }

  #insert(entry: number): void {
    if (this.size === this.#listed.length) {
      const larger = new Uint16Array(this.size * 2);
      larger.set(this.#listed);
      this.#listed = larger;
    }
    let at = this.size;
    while (at > 0 && (this.#listed[at - 1] as number) > entry) at--;
    this.#listed.copyWithin(at + 1, at, this.size);
    this.#listed[at] = entry;
  }

  #bitsOfListed(): Uint32Array {
    const bits = new Uint32Array(chunkRanks / 32);
    for (const entry of this.#listed) setBit(bits, entry);
    this.#listed = new Uint16Array(0);
    return bits;
  }
}

function setBit(bits: Uint32Array, entry: number): void {
  bits[entry >>> 5] = (bits[entry >>> 5] as number) | (1 << (entry & 31));
}
