/** Delays before a retry, for all parts of logfleet. */
import type { LogfleetError } from './errors.ts';
import type { Random } from './random.ts';

/** Delay in ms before a retry of an error that a user must fix. Nothing notifies logfleet of the fix. */
export const stallRetryMs = 30_000;
/**
 * Delay in ms before a request is sent again that the service has refused twice in a row for its credentials. A correction of the
 * Secret or a request of a person ends this delay.
 */
export const refusalRetryMs = 600_000;

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** Codes of errors with which the service refuses the credentials (401), or a right of their user (403). */
const refusals: ReadonlySet<string> = new Set(['service.unauthorized', 'service.forbidden', 'account.unauthorized']);

/** Returns whether the service refused the credentials or a right of their user, so that only a person can help. */
export function isRefusal(error: LogfleetError | undefined): boolean {
  return error !== undefined && refusals.has(error.code);
}

/** Consecutive failures of requests of one kind. A success of another kind of request does not end them. */
export class FailureRecord {
  #error: LogfleetError | undefined;
  #count = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  /** Error to report; undefined if a request has succeeded since. */
  get error(): LogfleetError | undefined {
    return this.#error;
  }

  /** Number of consecutive failures. */
  get count(): number {
    return this.#count;
  }

  /** Monotonic time in ms of the next request after the last failure. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /**
   * Records a failure, and returns the delay in ms before the next request.
   * @param shown error to report
   */
  failed(error: LogfleetError, nowMs: number, shown = error): number {
    const delayMs = retryDelayMs(error, countBefore(error, this.#error, this.#count));
    this.#error = shown;
    this.#count++;
    this.#untilMs = nowMs + delayMs;
    return delayMs;
  }

  /** Records that a request succeeded. */
  succeeded(): void {
    this.#error = undefined;
    this.#count = 0;
  }

  /** Permits the next request at once. The failures still count until a request succeeds. */
  tryAgain(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }
}

/**
 * Returns the number of failures on which the delay after `error` depends: `count`, or 0 for the first refusal after other failures.
 * Such a refusal may be wrong (10.1), so it has a short delay.
 */
export function countBefore(error: LogfleetError, before: LogfleetError | undefined, count: number): number {
  return isRefusal(error) && !isRefusal(before) ? 0 : count;
}

/**
 * Returns the delay in ms before a retry after this error. If the error itself names a delay, the longer of both delays
 * applies, so `Retry-After: 0` causes no rapid retries. The first refusal of credentials may be wrong (10.1), so only repeated
 * refusals have a long delay.
 * @param failures number of consecutive failures before this one
 */
export function retryDelayMs(error: LogfleetError, failures: number, longestMs?: number): number {
  const { handling } = error;
  if (handling.kind === 'stall') return failures > 0 && isRefusal(error) ? refusalRetryMs : stallRetryMs;
  const delayMs = backoffMs(failures, longestMs);
  return handling.kind === 'retryAfter' ? Math.max(handling.delayMs, delayMs) : delayMs;
}

/**
 * Returns the delay in ms: one second after the first failure, doubled after each further failure, up to `longestMs`.
 */
export function backoffMs(failures: number, longestMs = longestRetryMs): number {
  return doubledMs(firstRetryMs, failures, longestMs);
}

/** Returns `firstMs` doubled `failures` times, but at most `longestMs`. */
export function doubledMs(firstMs: number, failures: number, longestMs = Number.POSITIVE_INFINITY): number {
  return Math.min(longestMs, firstMs * 2 ** failures);
}

/** Shortens a delay by up to half at random, to spread retries. */
export function scatteredMs(delayMs: number, random: Random): number {
  return delayMs * (1 - random.next() / 2);
}
