/**
 * What an answer of 429 means (B5), and for how long `Retry-After` keeps us waiting (B4).
 *
 * It looks the same whether too many requests came or too many search jobs are active. To a job's creation while other
 * calls pass it means the jobs; otherwise the rate.
 */
import type { RequestClass } from './request-slot.ts';

/** A call that passed says something about the rate for so long: the time between two polls of one job, and a little more. */
const evidenceMs = 15_000;
/** We look again after this long, whatever `Retry-After` says. */
const longestRetryAfterMs = 300_000;
/** A poll due 12 s after the last one leaves 6 s later at the latest, 18 s after it, whatever `Retry-After` says (B4). */
const keepAliveHoldMs = 6_000;

export type RefusalCause = 'jobs' | 'rate';

export class Refusals {
  #allUntilMs = Number.NEGATIVE_INFINITY;
  #jobsUntilMs = Number.NEGATIVE_INFINITY;
  /** When the newest call other than a job's creation left that passed, and that did not. */
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

  /** Until when `Retry-After` holds back a request of the class that is due at `dueMs`. */
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
