/**
 * Interface between the request budget, which keeps the service's limits, and the code that sends requests. A sender
 * waits for permission (a slot) to send one request, and reports how the request ended.
 */
import type { JobAdmission } from './job-admission.ts';
import type { Departure } from './send-right.ts';

/**
 * Purpose of a request to the service, which decides its priority (B3). `jobCreation` creates a search job (4.1). `jobCare`
 * deletes a job (4.5), or asks for its status when no keep-alive is due (4.2).
 */
export type RequestClass =
  | 'keepAlive'
  | 'pageRead'
  | 'taskCreation'
  | 'taskStatus'
  | 'listing'
  | 'jobCreation'
  | 'jobCare';

/** Network path to one origin of the service. */
export interface Path {
  readonly origin: string;
  /**
   * Opens a test connection to the origin. A completed handshake shows that the service has also received the
   * requests that were sent earlier (B1). Rejects if the connection fails.
   */
  probe(): Promise<void>;
}

export interface SlotRequest {
  readonly class: RequestClass;
  /**
   * Network path on which a test connection can show that the service has received the request. Without a path, only
   * the answer to the request can show this.
   */
  readonly path?: Path | undefined;
  /**
   * Monotonic time in ms at which the request is due; now by default. Requests of a class are sent in order of due time.
   */
  readonly dueMs?: number | undefined;
  /**
   * Whether the request asks for the status of a search job. A cancelled status request counts as a concurrent
   * request for a shorter time than others (B2).
   */
  readonly isPoll?: boolean | undefined;
  /** Signal that cancels the wait: `acquire` rejects with the signal's reason. No effect once the request may be sent. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How a request has ended.
 * - `answered`: the answer was read completely, whatever its status. `headAtMs` is the monotonic time at which the answer began
 *   to arrive, now by default. `retryAfterMs` is the value of its `Retry-After` header.
 * - `abandoned`: cancelled by a deadline or by the caller. The service may still work on the request, so the request counts as
 *   concurrent for a while (B2).
 * - `broken`: the service closed the connection.
 */
export type SlotOutcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfterMs?: number | undefined;
      readonly headAtMs?: number;
    }
  | { readonly kind: 'abandoned' }
  | { readonly kind: 'broken' };

/**
 * Permission (slot) to send one request now.
 *
 * ```text
 * granted ── started ──▶ in flight ── answered, broken ──────────────▶ ended
 *    │                      └─ abandoned ──▶ held ── fixed time, or late answer ──▶ ended
 *    └── release ──▶ ended
 * ```
 *
 * Calls after the end have no effect, so a `finally` block can always call `release`. An unused permission delays
 * other requests, so a caller first opens a connection and then asks for permission (B1).
 */
export interface Slot {
  /**
   * Records that the request starts, right before it is written. First checks that this process may send (L1), and calls
   * `lastCheck`. If `started` throws, nothing may be written, and the caller must call `release`.
   */
  started(lastCheck?: () => void): Departure;
  /**
   * Gives the permission back if the request was not sent. If `started` was called, the request may have been sent,
   * and counts as `abandoned`.
   */
  release(): void;
  /**
   * Reports the monotonic time in ms at which the answer began to arrive, so that the network delay is known before a
   * long answer ends. The call is optional.
   */
  heard(headAtMs: number): void;
  /**
   * Allows the budget to cancel this request when a keep-alive with the same access key could not be sent otherwise
   * (B4). `giveUp` cancels the request, and is called at most once.
   */
  yieldTo(giveUp: () => void): void;
  /**
   * Reports how the request ended. After `abandoned`, a late `answered` or `broken` lets another request start earlier.
   */
  finished(outcome: SlotOutcome): void;
}

/** Budget of one access key: its own concurrency, and the rate and search jobs shared by all keys of the user. */
export interface KeyBudget {
  /** Limit for the number of active search jobs of the user (B4, B5). */
  readonly jobs: JobAdmission;
  /**
   * Waits for the right to send one request. Rejects with the signal's reason, with a `BudgetFullError` if too many
   * requests wait, or with a `NotLeadingError` when this process may not send.
   */
  acquire(request: SlotRequest): Promise<Slot>;
}
