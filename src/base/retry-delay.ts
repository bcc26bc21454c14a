/** How long something that failed is let alone before it is tried again: the one place for it, beside the controller's own queue. */
import type { LogfleetError } from './errors.ts';

/** What a person has to mend is looked at again so often. */
export const stallRetryMs = 30_000;

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;
/** Far beyond the longest delay that anybody asks for. */
const mostDoublings = 16;

/**
 * By the error's handling. A delay that was named makes it longer and never shorter: `Retry-After: 0` is no leave to hammer a service that
 * fails. @param failures before this one, in a row
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

/** A second at first, and twice as long each time. */
export function backoffMs(failures: number, longestMs = longestRetryMs): number {
  return Math.min(longestMs, firstRetryMs * 2 ** Math.min(failures, mostDoublings));
}
