/** Delay before a retry after an error. Used everywhere except in the controller's queue, which has its own back-off. */
import type { LogfleetError } from './errors.ts';

/** Delay before a retry of an error that a person must fix. */
export const stallRetryMs = 30_000;

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;
/** Maximum exponent. It only prevents overflow. */
const maxDoublings = 16;

/**
 * Returns the delay in ms for an error. A delay named by the error can only make the wait longer: `Retry-After: 0` must not cause
 * rapid retries.
 * @param failures number of consecutive failures before this one
 */
export function retryDelayMs({ handling }: LogfleetError, failures: number, longestMs?: number): number {
  switch (handling.kind) {
    case 'retryAfter':
      return Math.max(handling.delayMs, backoffMs(failures, longestMs));
    case 'stall':
      return stallRetryMs;
    case 'backoff':
    case 'wait':
    case 'bug':
      return backoffMs(failures, longestMs);
  }
}

/** Exponential back-off in ms: one second at first, doubled after each failure. */
export function backoffMs(failures: number, longestMs = longestRetryMs): number {
  return Math.min(longestMs, firstRetryMs * 2 ** Math.min(failures, maxDoublings));
}
