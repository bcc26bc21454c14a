/** Computes delays before a retry. No other file contains a back-off formula. */
import type { LogfleetError } from './errors.ts';
import type { Random } from './random.ts';

/**
 * Delay in ms before a retry of an error that only an unreported change can fix: a person corrects a Secret with wrong
 * credentials, or a condition outside of the cluster changes.
 */
export const stallRetryMs = 30_000;

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/**
 * Returns the delay in ms before a retry after this error. A delay that the error itself names can only make the wait longer,
 * so that `Retry-After: 0` causes no rapid retries.
 * @param failures number of consecutive failures before this one
 */
export function retryDelayMs({ handling }: LogfleetError, failures: number, longestMs?: number): number {
  if (handling.kind === 'stall') return stallRetryMs;
  const delayMs = backoffMs(failures, longestMs);
  return handling.kind === 'retryAfter' ? Math.max(handling.delayMs, delayMs) : delayMs;
}

/** Exponential delay in ms before a retry: one second at first, doubled after each failure. */
export function backoffMs(failures: number, longestMs = longestRetryMs): number {
  return doubledMs(firstRetryMs, failures, longestMs);
}

/**
 * Returns the delay `firstMs`, doubled once for each of the earlier `failures`, and at most
 * `longestMs`.
 */
export function doubledMs(firstMs: number, failures: number, longestMs = Number.POSITIVE_INFINITY): number {
  return Math.min(longestMs, firstMs * 2 ** failures);
}

/**
 * Shortens a delay by up to half at random, so that several callers whose actions failed together
 * do not retry together.
 */
export function scatteredMs(delayMs: number, random: Random): number {
  return delayMs * (1 - random.next() / 2);
}
