/** Computes delays before retries, for all parts of logfleet. */
import type { LogfleetError } from './errors.ts';
import type { Random } from './random.ts';

/**
 * Delay in ms before a retry after an error that a user must fix. logfleet retries because nothing notifies it when the
 * user has fixed the error.
 */
export const stallRetryMs = 30_000;
/**
 * Delay in ms after the service has refused the credentials or a permission twice in a row. A change to the Secret ends
 * this delay.
 */
const refusalRetryMs = 600_000;

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** Codes of the errors for refused credentials (401) and for a missing permission (403). */
const refusals: ReadonlySet<string> = new Set(['service.unauthorized', 'service.forbidden', 'account.unauthorized']);

/** Reports whether the service rejected the credentials or denied a permission. Only a user can fix such an error. */
export function isRefusal(error: LogfleetError | undefined): boolean {
  return error !== undefined && refusals.has(error.code);
}

/**
 * Returns the time in ms until a rejected access key may be sent again, or Infinity if no key is rejected. If `error`
 * still reports a rejected key that may already be sent again, returns a short delay.
 * @param heldForMs time in ms for which a rejected access key must not be sent, or Infinity if no key is rejected
 */
export function holdMs(error: LogfleetError | undefined, heldForMs: number): number {
  const hasEnded = error?.code === 'account.unauthorized' && heldForMs === Number.POSITIVE_INFINITY;
  return hasEnded ? firstRetryMs : heldForMs;
}

/**
 * Counts consecutive failures of one kind of request. A success of another kind of request does not reset the count.
 */
export class FailureRecord {
  #error: LogfleetError | undefined;
  #count = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  /** Error from the last failed request, as shown to users. Undefined if a request has succeeded since then. */
  get error(): LogfleetError | undefined {
    return this.#error;
  }

  /** Number of consecutive failures. */
  get count(): number {
    return this.#count;
  }

  /** Monotonic time in ms at which the next request may be sent. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /**
   * Records a failed request. Returns the delay in ms before the next request.
   * @param shown error that the property `error` returns after this call
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

  /**
   * Ends the current delay, so that the next request can be sent immediately. The number of failures is kept, so the
   * next failure causes a longer delay.
   */
  tryAgain(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }
}

/**
 * Returns the number of earlier failures from which the next delay is computed. Returns 0 for the first refusal of the
 * credentials, because the service sometimes refuses valid credentials (section 10.1 of docs/service.md). Returns
 * `count` in all other cases.
 */
export function countBefore(error: LogfleetError, before: LogfleetError | undefined, count: number): number {
  return isRefusal(error) && !isRefusal(before) ? 0 : count;
}

/**
 * Returns the delay in ms before a retry. If the error contains a longer delay, returns that delay.
 *
 * After the first refusal of the credentials, the delay is short, because the service sometimes refuses valid
 * credentials (section 10.1 of docs/service.md). After further refusals, the delay is long.
 * @param failures number of consecutive failures before this one
 */
export function retryDelayMs(error: LogfleetError, failures: number, longestMs?: number): number {
  const { handling } = error;
  if (handling.kind === 'stall') return failures > 0 && isRefusal(error) ? refusalRetryMs : stallRetryMs;
  return Math.max(backoffMs(failures, longestMs), requestedDelayMs(error));
}

/** Returns the delay in ms that the header `Retry-After` of a response requests, or 0. */
export function requestedDelayMs({ handling }: LogfleetError): number {
  return handling.kind === 'retryAfter' ? handling.delayMs : 0;
}

/**
 * Returns the delay in ms before a retry: one second after the first failure, and twice as long after each further
 * failure, but at most `longestMs`.
 */
export function backoffMs(failures: number, longestMs = longestRetryMs): number {
  return doubledMs(firstRetryMs, failures, longestMs);
}

/** Returns `firstMs`, doubled once for each failure, but at most `longestMs`. */
export function doubledMs(firstMs: number, failures: number, longestMs = Number.POSITIVE_INFINITY): number {
  return Math.min(longestMs, firstMs * 2 ** failures);
}

/** Shortens a delay by a random amount, at most half of it, so that retries do not coincide. */
export function scatteredMs(delayMs: number, random: Random): number {
  return delayMs * (1 - random.next() / 2);
}
