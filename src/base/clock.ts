/**
 * Time as a port. Everything that waits or looks at a clock gets one of these, so that tests and simulations run on a
 * virtual clock; `systemClock` is the only place of the operator that touches the machine's timers.
 *
 * Invariant: ages and deadlines are computed from `monotonic()`; `now()` is for what people and other machines read. Where an age must
 * not be taken for too small, both count (`elapsedMs`).
 */
import { performance } from 'node:perf_hooks';

export interface Timer {
  /** Stops the timer; harmless when it has fired already. */
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds on a scale of its own that never goes back. */
  monotonic(): number;
  /** Calls `callback` once, `delayMs` milliseconds from now (at once when not positive, but never synchronously). */
  after(delayMs: number, callback: () => void): Timer;
}

/** A point in time on both clocks, to measure from. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function instant(clock: Clock): Instant {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
}

/**
 * The time since `start` in ms, by the clock that shows more of it. The monotonic clock of Linux stands still while the machine sleeps;
 * the wall clock may be set back. A wall clock that is set forward makes the result too large.
 */
export function elapsedMs(clock: Clock, start: Instant): number {
  return Math.max(clock.monotonic() - start.monotonicMs, clock.now() - start.wallMs);
}

/** Node's timers take 31 bits; a longer delay fires at once there. Whoever waits longer looks again then. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(0, delayMs), longestTimerMs));
    return { cancel: () => clearTimeout(timer) };
  },
};

/**
 * Calls `callback` once, when all that has arrived from the network by now was handed to those who read it. For sockets alone, which run
 * on no virtual clock.
 */
export function afterArrivals(callback: () => void): void {
  setImmediate(callback);
}

/** Resolves after `delayMs`; rejects with the signal's reason as soon as it is aborted. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
