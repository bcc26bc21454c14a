/**
 * Work of one schedule at its destination, such as reading the schedule records. A reconcile waits for this work only
 * for a limited time, so that a store that does not respond cannot occupy all workers of the controller.
 */
import { unlessAborted } from '../base/aborted.ts';
import type { Clock } from '../base/clock.ts';
import { destinationError } from '../destination/store/destination-error.ts';

/** Maximum time in ms that reconciles wait for the same work. */
const longestWaitMs = 10_000;

interface Work {
  readonly key: string;
  readonly result: Promise<unknown>;
  /** True if a reconcile has stopped waiting. The end of the work then triggers another reconcile. */
  isLeft: boolean;
}

export class DestinationWork {
  readonly #clock: Clock;
  readonly #enqueue: () => void;
  /** Work that has not ended, or whose result no reconcile has used yet. */
  #current: Work | undefined;

  /** @param enqueue requests a reconcile of the schedule */
  constructor(clock: Clock, enqueue: () => void) {
    this.#clock = clock;
    this.#enqueue = enqueue;
  }

  /**
   * Returns the result of work that `begin` starts. If the work takes too long, or `signal` is aborted, stops waiting
   * and throws an error, but lets the work continue. The next call with the same key returns the result of this work.
   */
  async run<T>(key: string, signal: AbortSignal, begin: () => Promise<T>): Promise<T> {
    if (this.#current?.key !== key) this.#current = { key, result: begin(), isLeft: false };
    const work = this.#current;
    const limit = new AbortController();
    const timer = this.#clock.after(work.isLeft ? 0 : longestWaitMs, () => {
      // The store may also be slow, or contain very many records.
      const message = `reading or writing the schedule records takes longer than ${longestWaitMs / 1000} s`;
      limit.abort(destinationError('away', message));
    });
    const either = AbortSignal.any([signal, limit.signal]);
    try {
      return await unlessAborted(either, work.result as Promise<T>);
    } finally {
      timer.cancel();
      if (!either.aborted) this.#current = undefined;
      else if (!work.isLeft) {
        work.isLeft = true;
        work.result.then(this.#enqueue, this.#enqueue);
      }
    }
  }
}
