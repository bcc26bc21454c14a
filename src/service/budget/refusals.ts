/**
 * Decides whether a 429 response means too many requests or too many search jobs, and applies `Retry-After` (B4, B5).
 * If the service rejects the creation of a job soon after it answered other requests successfully, logfleet assumes
 * that the user has too many jobs.
 */
import type { RequestClass } from './request-slot.ts';

/** Maximum age in ms at which a successful request still proves that the request rate is not too high. */
const evidenceMs = 15_000;
/**
 * Maximum wait in ms that `Retry-After` can impose on other requests. The request that was refused can wait longer.
 */
const longestRetryAfterMs = 300_000;
/**
 * Maximum time in ms by which `Retry-After` can delay a keep-alive of a search job. It is short, because the service
 * cancels a job after 20 s without requests (B4).
 */
const keepAliveHoldMs = 6_000;

export type RefusalCause = 'jobs' | 'rate';

export class Refusals {
  #allUntilMs = Number.NEGATIVE_INFINITY;
  #jobsUntilMs = Number.NEGATIVE_INFINITY;
  /** Send time of the latest successful request. Requests that create search jobs do not count. */
  #passedSentMs = Number.NEGATIVE_INFINITY;
  #refusedSentMs = Number.NEGATIVE_INFINITY;

  passed(requestClass: RequestClass, sentAtMs: number): void {
    if (requestClass !== 'jobCreation') this.#passedSentMs = Math.max(this.#passedSentMs, sentAtMs);
  }

  refused(requestClass: RequestClass, sentAtMs: number, retryAfterMs: number | undefined, nowMs: number): RefusalCause {
    const cause = this.#causeOf(requestClass, sentAtMs);
    if (requestClass !== 'jobCreation') this.#refusedSentMs = Math.max(this.#refusedSentMs, sentAtMs);
    const untilMs = nowMs + Math.min(longestRetryAfterMs, Math.max(0, retryAfterMs ?? 0));
    if (cause === 'jobs') this.#jobsUntilMs = Math.max(this.#jobsUntilMs, untilMs);
    else this.#allUntilMs = Math.max(this.#allUntilMs, untilMs);
    return cause;
  }

  /**
   * Returns the earliest time at which `Retry-After` allows a request of this class. A keep-alive is delayed by at most
   * `keepAliveHoldMs` beyond its due time `dueMs`.
   */
  heldUntilMs(requestClass: RequestClass, dueMs: number): number {
    switch (requestClass) {
      case 'keepAlive':
        return Math.min(this.#allUntilMs, dueMs + keepAliveHoldMs);
      case 'jobCreation':
        return Math.max(this.#allUntilMs, this.#jobsUntilMs);
      default:
        return this.#allUntilMs;
    }
  }

  #causeOf(requestClass: RequestClass, sentAtMs: number): RefusalCause {
    if (requestClass !== 'jobCreation') return 'rate';
    const othersPass = this.#passedSentMs > this.#refusedSentMs && this.#passedSentMs >= sentAtMs - evidenceMs;
    return othersPass ? 'jobs' : 'rate';
  }
}
