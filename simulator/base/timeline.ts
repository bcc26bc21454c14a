/**
 * Runs actions at given times. Actions due at the same time run in the order in which they were added. Time passes only
 * in `advance`.
 */

interface TimedAction {
  readonly atMs: number;
  readonly order: number;
  readonly action: (atMs: number) => void;
}

export class Timeline {
  readonly #heap: TimedAction[] = [];
  #order = 0;

  at(atMs: number, action: (atMs: number) => void): void {
    const heap = this.#heap;
    const entry: TimedAction = { atMs, order: this.#order++, action };
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (isBefore(heap[parent] as TimedAction, entry)) break;
      heap[index] = heap[parent] as TimedAction;
      index = parent;
    }
    heap[index] = entry;
  }

  /**
   * Runs all actions that are due at `atMs`, in order of time. If these actions add more actions that are due, runs
   * them as well.
   */
  advance(atMs: number): void {
    for (let first = this.#heap[0]; first && first.atMs <= atMs; first = this.#heap[0]) {
      this.#removeFirst();
      first.action(first.atMs);
    }
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop() as TimedAction;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as TimedAction, heap[child] as TimedAction)) child++;
      if (isBefore(last, heap[child] as TimedAction)) break;
      heap[index] = heap[child] as TimedAction;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(left: TimedAction, right: TimedAction): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
}
