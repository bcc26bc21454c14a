/**
 * Decides what an answer with 429 means, and how `Retry-After` delays requests (B4, B5).
 *
 * The service gives the same answer for too many requests and for too many active search jobs. For the creation of a job the answer means
 * too many jobs, provided that other calls succeed. Otherwise it means too many requests.
 */
import type { RequestClass } from './request-slot.ts';

/**
 * Time in ms for which a successful call shows that the request rate is not too high. The time is
 * slightly longer than the interval between two keep-alives of a search job.
 */
const evidenceMs = 15_000;
/** Maximum wait in ms after an answer with `Retry-After`, even if the header asks for more. */
const longestRetryAfterMs = 300_000;
/**
 * Maximum delay in ms of a keep-alive by `Retry-After`. A keep-alive is due 12 s after the last
 * one, so it is sent after 18 s at most (B4).
 */
const keepAliveHoldMs = 6_000;

export type RefusalCause = 'jobs' | 'rate';

export class Refusals {
  #allUntilMs = Number.NEGATIVE_INFINITY;
  #jobsUntilMs = Number.NEGATIVE_INFINITY;
  /**
   * Send time of the newest successful call, and of the newest call rejected with 429. Creations of
   * search jobs are not counted.
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

  /** Time until which `Retry-After` delays a request of this class that is due at `dueMs`. */
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
