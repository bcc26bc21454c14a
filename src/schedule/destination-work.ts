/**
 * Operations of one schedule at its destination, such as reading the schedule records. A reconcile waits only a limited
 * time for an operation, because a store that does not respond could otherwise occupy all workers of the controller.
 */
import { unlessAborted } from '../base/aborted.ts';
import type { Clock } from '../base/clock.ts';
import { destinationError } from '../destination/store/destination-error.ts';

/** Maximum time in ms that the first reconcile waits for an operation. Later reconciles do not wait for it again. */
const longestWaitMs = 10_000;

interface Work {
  readonly key: string;
  readonly result: Promise<unknown>;
  /**
   * True if a reconcile has waited the maximum time for this operation. The end of the operation then triggers another
   * reconcile.
   */
  isLeft: boolean;
}

export class DestinationWork {
  readonly #clock: Clock;
  readonly #enqueue: () => void;
  /** Operation that has not ended, or whose result no reconcile has used yet. */
  #current: Work | undefined;

  /** @param enqueue requests a reconcile of the schedule */
  constructor(clock: Clock, enqueue: () => void) {
    this.#clock = clock;
    this.#enqueue = enqueue;
  }

  /**
   * Returns the result of the operation that `begin` starts. If the operation takes too long, or `signal` is aborted,
   * stops waiting and throws an error, but lets the operation continue. The next call with the same key does not start
   * the operation again, but returns its result.
   */
  async run<T>(key: string, signal: AbortSignal, begin: () => Promise<T>): Promise<T> {
    if (this.#current?.key !== key) this.#current = { key, result: begin(), isLeft: false };
    const work = this.#current;
    const limit = new AbortController();
    const timer = this.#clock.after(work.isLeft ? 0 : longestWaitMs, () => {
      // The message gives no cause, because the cause is unknown: the store may be unavailable or slow, or may contain
      // very many records.
      const message = `reading or writing the schedule records takes longer than ${longestWaitMs / 1000} s`;
      limit.abort(destinationError('away', message));
    });
    const either = AbortSignal.any([signal, limit.signal]);
    try {
      return await unlessAborted(either, work.result as Promise<T>);
    } finally {
      timer.cancel();
      if (!either.aborted) this.#current = undefined;
      else if (limit.signal.aborted && !work.isLeft) {
        work.isLeft = true;
        work.result.then(this.#enqueue, this.#enqueue);
      }
    }
  }
}
