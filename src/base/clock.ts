/**
 * Interface for clocks and timers. Tests and simulations use a virtual clock. Use `monotonic()` for ages and deadlines,
 * and `now()` for times that users or other machines see. Use `elapsedMs` for an age that must not be underestimated.
 */
import { performance } from 'node:perf_hooks';

export interface Timer {
  /** Stops the timer. Has no effect once the timer has fired. */
  cancel(): void;
}

export interface Clock {
  /** Returns the wall-clock time in ms since the epoch. This time may jump when the clock is set. */
  now(): number;
  /** Returns the monotonic time in ms, which never goes back. */
  monotonic(): number;
  /** Calls `callback` once after `delayMs`, never synchronously. */
  after(delayMs: number, callback: () => void): Timer;
}

/** A point in time, read from both the wall clock and the monotonic clock. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function instant(clock: Clock): Instant {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
}

/**
 * Returns the time since `start`, in ms, as measured by the clock that shows the longer time. Each clock can show too
 * short a time: the monotonic clock of Linux stops while the machine sleeps, and the wall clock can be set back.
 */
export function elapsedMs(clock: Clock, start: Instant): number {
  return Math.max(clock.monotonic() - start.monotonicMs, clock.now() - start.wallMs);
}

/** Maximum delay of Node.js timers (31 bits). A longer delay would fire immediately. */
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
 * Calls `callback` once Node.js has delivered all network data that has already arrived. Use this function only in code
 * with real sockets.
 */
export function afterArrivals(callback: () => void): void {
  setImmediate(callback);
}

/** Waits for `delayMs`. Rejects with the signal's reason if the signal is aborted before then. */
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
