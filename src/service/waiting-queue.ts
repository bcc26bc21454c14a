/**
 * Requests that wait, the earliest due first and, among equals, whoever came first. A binary heap whose entries know their place,
 * so that one which is given up leaves at once: O(log n) for each way in and out, and nothing dead is kept.
 */

/** What the queue orders; `place` is its own. */
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

  /** A copy of what waits, in no order. */
  all(): readonly W[] {
    return [...this.#heap];
  }

  push(entry: W): void {
    this.#heap.push(entry);
    this.#up(entry, this.#heap.length - 1);
  }

  /** Takes out an entry that is in this queue. */
  remove(entry: W): void {
    const last = this.#heap.pop() as W;
    if (last === entry) return;
    this.#up(last, this.#down(last, entry.place));
  }

  /** Moves `entry` from the free place `index` towards the top, and puts it there. */
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

  /** Moves the free place `index` towards the bottom as far as `entry` has to go; returns where it ends. */
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
