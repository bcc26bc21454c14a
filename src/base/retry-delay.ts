/** Delays before a retry, for all parts of logfleet. */
import type { LogfleetError } from './errors.ts';
import type { Random } from './random.ts';

/**
 * Delay in ms before a retry of an error that a person must fix, such as wrong credentials. Nothing notifies logfleet of the fix, so it
 * retries at this interval.
 */
export const stallRetryMs = 30_000;

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/**
 * Returns the delay in ms before a retry after this error. If the error itself names a delay, the longer of both delays
 * applies, so `Retry-After: 0` causes no rapid retries.
 * @param failures number of consecutive failures before this one
 */
export function retryDelayMs({ handling }: LogfleetError, failures: number, longestMs?: number): number {
  if (handling.kind === 'stall') return stallRetryMs;
  const delayMs = backoffMs(failures, longestMs);
  return handling.kind === 'retryAfter' ? Math.max(handling.delayMs, delayMs) : delayMs;
}

/**
 * Returns the delay in ms before a retry: one second after the first failure, then doubled after each further failure, up to
 * `longestMs`.
 */
export function backoffMs(failures: number, longestMs = longestRetryMs): number {
  return doubledMs(firstRetryMs, failures, longestMs);
}

/** Returns `firstMs` doubled `failures` times, but at most `longestMs`. */
export function doubledMs(firstMs: number, failures: number, longestMs = Number.POSITIVE_INFINITY): number {
  return Math.min(longestMs, firstMs * 2 ** failures);
}

/**
 * Shortens a delay by up to half at random, so that callers whose actions failed at the same time do not all retry at the same
 * time.
 */
export function scatteredMs(delayMs: number, random: Random): number {
  return delayMs * (1 - random.next() / 2);
}
