/**
 * Interface for time. All code that waits or reads a clock uses it, so that tests and simulations run on a virtual clock.
 *
 * Ages and deadlines are measured with `monotonic()`; `now()` is for people and other machines. Code that must not
 * underestimate an age uses `elapsedMs`.
 */
import { performance } from 'node:perf_hooks';

export interface Timer {
  /** Stops the timer. The call has no effect after the timer has fired. */
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the epoch. It may jump when the machine's clock is set. */
  now(): number;
  /** Monotonic time in ms since an arbitrary start. It never goes back. */
  monotonic(): number;
  /**
   * Calls `callback` once after `delayMs` milliseconds. A delay of 0 or less calls it as soon as possible, but never
   * synchronously.
   */
  after(delayMs: number, callback: () => void): Timer;
}

/** Point in time, as shown by the wall clock and by the monotonic clock. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function instant(clock: Clock): Instant {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
}

/**
 * Time since `start` in ms. The result is the larger of the times that both clocks measured, because the monotonic clock of Linux
 * stops while the machine sleeps, and the wall clock can be set back. The result is too large if the wall clock was set forward.
 */
export function elapsedMs(clock: Clock, start: Instant): number {
  return Math.max(clock.monotonic() - start.monotonicMs, clock.now() - start.wallMs);
}

/**
 * Maximum delay of Node's timers (31 bits). A longer delay would fire immediately, so callers with longer waits must
 * check the time again.
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
 * Calls `callback` once, after all network data that has already arrived was delivered. Only for code with real sockets, because
 * a virtual clock does not control the network.
 */
export function afterArrivals(callback: () => void): void {
  setImmediate(callback);
}

/** Waits for `delayMs` milliseconds. Rejects with the signal's reason if the signal is aborted before. */
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
