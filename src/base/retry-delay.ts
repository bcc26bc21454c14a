/** Delays before a retry, for all parts of logfleet. */
import type { LogfleetError } from './errors.ts';
import type { Random } from './random.ts';

/**
 * Delay in ms before a retry of an error that a user must fix. logfleet retries, because nothing reports that the error
 * is fixed.
 */
export const stallRetryMs = 30_000;
/**
 * Delay in ms before the next request after the service refused the credentials twice. A change of the Secret ends the
 * delay.
 */
export const refusalRetryMs = 600_000;

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** Codes of errors that mean refused credentials (401) or a missing permission (403). */
const refusals: ReadonlySet<string> = new Set(['service.unauthorized', 'service.forbidden', 'account.unauthorized']);

/** Returns whether the service refused the credentials or a right, so that only a user can help. */
export function isRefusal(error: LogfleetError | undefined): boolean {
  return error !== undefined && refusals.has(error.code);
}

/**
 * Returns the delay in ms until a resource with this error is checked again. `heldForMs` is the time for which a
 * rejected access key is still not sent, or Infinity. If the key was rejected and may be sent again, the resource is
 * checked soon.
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

  /** Error that is shown for the last failed request. Undefined if a request has succeeded since then. */
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
   * Records a failure, and returns the delay in ms before the next request.
   * @param shown error that `error` returns from now on
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

  /** Permits the next request immediately. Earlier failures still increase later delays, until a request succeeds. */
  tryAgain(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }
}

/**
 * Returns the number of failures from which a delay is computed. A first refusal of the credentials counts as no
 * failure, because the service sometimes refuses valid credentials (section 10.1 of docs/service.md). For every other
 * error, returns `count`.
 */
export function countBefore(error: LogfleetError, before: LogfleetError | undefined, count: number): number {
  return isRefusal(error) && !isRefusal(before) ? 0 : count;
}

/**
 * Returns the delay in ms before a retry. If the error asks for a longer delay, returns that delay. The delay after a
 * refusal of the credentials is long only if the service refused them before, because the service sometimes refuses
 * valid credentials (section 10.1 of docs/service.md).
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
