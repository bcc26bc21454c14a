/**
 * Priority queue of waiting requests, ordered by due time and then by arrival. A binary heap whose entries store their index, so
 * that a cancelled request is removed in O(log n).
 */

/** Entry of the queue. The queue sets `place`. */
export interface Waiting {
  readonly dueMs: number;
  readonly order: number;
  place: number;
}

export class WaitingQueue<W extends Waiting> {
  readonly #heap: W[] = [];

  get size(): number {
    return this.#heap.length;
  }

  peek(): W | undefined {
    return this.#heap[0];
  }

  /** Copy of all entries, in no particular order. */
  all(): readonly W[] {
    return [...this.#heap];
  }

  push(entry: W): void {
    this.#heap.push(entry);
    this.#up(entry, this.#heap.length - 1);
  }

  /** Removes an entry of this queue. */
  remove(entry: W): void {
    const last = this.#heap.pop() as W;
    if (last === entry) return;
    this.#up(last, this.#down(last, entry.place));
  }

  /** Moves `entry` up from the free index, and stores it. */
  #up(entry: W, index: number): void {
    let place = index;
    while (place > 0) {
      const parent = this.#heap[(place - 1) >> 1] as W;
      if (before(parent, entry)) break;
      this.#set(parent, place);
      place = (place - 1) >> 1;
    }
    this.#set(entry, place);
  }

  /** Moves the free index down to the position for `entry`, and returns it. */
  #down(entry: W, index: number): number {
    let place = index;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= this.#heap.length) return place;
      const right = this.#heap[child + 1];
      if (right && before(right, this.#heap[child] as W)) child++;
      if (before(entry, this.#heap[child] as W)) return place;
      this.#set(this.#heap[child] as W, place);
      place = child;
    }
  }

  #set(entry: W, place: number): void {
    this.#heap[place] = entry;
    entry.place = place;
  }
}

function before(left: Waiting, right: Waiting): boolean {
  return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.order < right.order);
}
