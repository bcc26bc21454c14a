/**
 * Decides whether an answer with 429 means too many requests or too many active search jobs, and how `Retry-After`
 * delays requests (B4, B5). A 429 for the creation of a job means too many jobs if other requests succeed at the same
 * time. Any other 429 means too many requests.
 */
import type { RequestClass } from './request-slot.ts';

/**
 * Maximum age in ms of a successful request that shows that the request rate is not too high. Slightly longer than the time
 * between two keep-alives of a search job, so the keep-alives of one job are enough to show it.
 */
const evidenceMs = 15_000;
/** Maximum wait in ms after an answer with `Retry-After`, even if the header demands a longer wait. */
const longestRetryAfterMs = 300_000;
/**
 * Maximum time in ms by which `Retry-After` delays a keep-alive. A search job then gets a keep-alive at least every
 * 18 s, and the service cancels the job after 20 s at the earliest (B4).
 */
const keepAliveHoldMs = 6_000;

export type RefusalCause = 'jobs' | 'rate';

export class Refusals {
  #allUntilMs = Number.NEGATIVE_INFINITY;
  #jobsUntilMs = Number.NEGATIVE_INFINITY;
  /**
   * Latest send time of a successful request, and of a request that was answered with 429 (`#refusedSentMs`).
   * Creations of search jobs do not count.
   */
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
   * Time until which a `Retry-After` header delays requests of this class. `dueMs` is the time at which the request is
   * due.
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
