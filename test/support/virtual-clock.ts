/**
 * Clock for tests. Its time advances only when a test advances it. All promises settle before the next timer fires, so
 * every run is identical.
 */
import type { Clock, Timer } from '../../src/base/clock.ts';
import { isCompressing } from './compression-watch.ts';

interface VirtualTimer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
  cancelled: boolean;
}

export class VirtualClock implements Clock {
  #elapsedMs = 0;
  #order = 0;
  readonly #heap: VirtualTimer[] = [];
  readonly #epochMs: number;
  readonly #settle: () => Promise<void>;
  /** Offset of the wall-clock time in ms. The monotonic time has no offset. */
  skewMs = 0;

  /**
   * @param settled function that waits until nothing more can happen before the next timer; tests that use files must
   * pass `settleFiles`
   */
  constructor(epochMs = Date.UTC(2026, 10, 1), settled: () => Promise<void> = settle) {
    this.#epochMs = epochMs;
    this.#settle = settled;
  }

  now(): number {
    return Math.floor(this.#epochMs + this.#elapsedMs + this.skewMs);
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const entry: VirtualTimer = {
      at: this.#elapsedMs + Math.max(0, delayMs),
      order: this.#order++,
      callback,
      cancelled: false,
    };
    this.#push(entry);
    return {
      cancel: () => {
        entry.cancelled = true;
      },
    };
  }

  /** Returns the time of the next timer, or undefined if no timer is set. */
  next(): number | undefined {
    while (this.#heap[0]?.cancelled) this.#pop();
    return this.#heap[0]?.at;
  }

  /** Advances the clock by `durationMs`, and fires all timers that become due. */
  async advance(durationMs: number): Promise<void> {
    const end = this.#elapsedMs + durationMs;
    await this.run(() => false, end);
    this.#elapsedMs = Math.max(this.#elapsedMs, end);
  }

  /** Fires timers until `done` returns true or `untilMs` is reached. Returns the last result of `done`. */
  async run(done: () => boolean, untilMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    for (;;) {
      await this.#settle();
      if (done()) return true;
      const at = this.next();
      if (at === undefined || at > untilMs) return false;
      const entry = this.#pop();
      this.#elapsedMs = Math.max(this.#elapsedMs, entry.at);
      entry.callback();
    }
  }

  /** Fires timers until the promise settles, and returns its result. */
  async during<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    settled.catch(() => {});
    // `run` ends when no timer is set, but the promise might still be waiting for real work, such as reading a file.
    // `run` is therefore repeated.
    while (!(await this.run(() => isSettled)));
    return settled;
  }

  #push(entry: VirtualTimer): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (before(heap[parent] as VirtualTimer, entry)) break;
      heap[index] = heap[parent] as VirtualTimer;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): VirtualTimer {
    const heap = this.#heap;
    const top = heap[0] as VirtualTimer;
    const last = heap.pop() as VirtualTimer;
    if (heap.length > 0) {
      let index = 0;
      for (;;) {
        let child = 2 * index + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && before(heap[child + 1] as VirtualTimer, heap[child] as VirtualTimer)) child++;
        if (before(last, heap[child] as VirtualTimer)) break;
        heap[index] = heap[child] as VirtualTimer;
        index = child;
      }
      heap[index] = last;
    }
    return top;
  }
}

function before(left: VirtualTimer, right: VirtualTimer): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order);
}

/** Waits until every pending promise is waiting for a timer, and no data is being compressed. */
export async function settle(): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (isCompressing());
}

/** Waits like `settle`, and also until all file operations have ended. */
export async function settleFiles(): Promise<void> {
  do await settle();
  while (process.getActiveResourcesInfo().some((name) => /^(?:FSReq|CloseReq)/.test(name)));
}
