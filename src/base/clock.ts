/**
 * Interface for time. All code that waits or reads a clock uses it, so tests and simulations run on a virtual clock.
 * `systemClock` is the only code of the operator that uses the machine's timers.
 *
 * Invariant: ages and deadlines use `monotonic()`, and `now()` is for people and other machines. Code that must not
 * underestimate an age uses both (`elapsedMs`).
 */
import { performance } from 'node:perf_hooks';

export interface Timer {
  /** Stops the timer. The call has no effect after the timer has fired. */
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the epoch. It may jump when the machine's clock is set. */
  now(): number;
  /** Monotonic time: milliseconds on an arbitrary scale that never goes back. */
  monotonic(): number;
  /**
   * Calls `callback` once after `delayMs` milliseconds. A delay of 0 or less calls it as soon as possible, but never
   * synchronously.
   */
  after(delayMs: number, callback: () => void): Timer;
}

/** Point in time, measured on both clocks (wall and monotonic). */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function instant(clock: Clock): Instant {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
}

/**
 * Time since `start` in ms. Of the two clocks, the one that shows more elapsed time is used, because the monotonic
 * clock of Linux stops while the machine sleeps, and the wall clock can be set back. If the wall clock is set forward,
 * the result is too large.
 */
export function elapsedMs(clock: Clock, start: Instant): number {
  return Math.max(clock.monotonic() - start.monotonicMs, clock.now() - start.wallMs);
}

/**
 * Maximum delay of Node's timers (31 bits). A longer delay would fire immediately, so callers with longer waits must check the time
 * again.
 */
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
 * Calls `callback` once, after all data that has already arrived from the network was delivered.
 * The function is only for code with real sockets, because a virtual clock knows nothing about the
 * network.
 */
export function afterArrivals(callback: () => void): void {
  setImmediate(callback);
}

/**
 * Waits for `delayMs` milliseconds. Rejects with the signal's reason if the signal is aborted
 * before.
 */
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
