/**
 * Interface between the request budget and the code that sends requests. A sender waits for permission (a slot), and
 * later reports how its request ended.
 */
import type { JobAdmission } from './job-admission.ts';
import type { Departure } from './send-right.ts';

/**
 * Purpose of a request, which determines its priority (B3). A `jobCare` request deletes a search job or checks its
 * progress.
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
  /** Opens a test connection to the service. A completed handshake proves that earlier requests have arrived (B1). */
  probe(): Promise<void>;
}

export interface SlotRequest {
  readonly class: RequestClass;
  /**
   * Network path of the request. The budget opens test connections on this path to find out whether earlier requests
   * have arrived (B1).
   */
  readonly path?: Path | undefined;
  /** Monotonic time in ms at which the request is due. Default: now. */
  readonly dueMs?: number | undefined;
  /**
   * True if the request asks for the status of a search job. A cancelled status request counts against the limit on
   * concurrent requests for a shorter time than other cancelled requests (B2).
   */
  readonly isPoll?: boolean | undefined;
  /** Cancels the wait for permission. `acquire` then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How a request ended.
 * - `answered`: the whole response was read. `headAtMs` is the monotonic time at which the response began to arrive.
 * - `abandoned`: the caller or a deadline cancelled the request. The service may still be working on the request, so it
 *   counts against the limit on concurrent requests for a while (B2).
 * - `broken`: the service closed the connection.
 */
export type SlotResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfterMs?: number | undefined;
      readonly headAtMs?: number;
    }
  | { readonly kind: 'abandoned' }
  | { readonly kind: 'broken' };

/**
 * Permission (slot) to send one request.
 *
 * ```text
 * granted ── started ──▶ in flight ── answered, broken ──────────────▶ ended
 *    │                      └─ abandoned ──▶ held ── fixed time ────▶ ended
 *    └── release ──▶ ended
 * ```
 *
 * Call either `release` once, or `started` once and later `finished` once. Open a connection before you ask for
 * permission, because other requests wait while a permission is unused (B1).
 */
export interface Slot {
  /**
   * Records the start of the request. Call this method right before the request is written. Throws if this process is
   * no longer the leader (L1); in that case, call `release` and write nothing.
   */
  started(lastCheck?: () => void): Departure;
  /** Gives back the permission of a request that was not sent. */
  release(): void;
  /** Reports the monotonic time in ms at which the response began to arrive. */
  heard(headAtMs: number): void;
  /**
   * Allows the budget to cancel this request, so that a keep-alive of a search job can be sent (B4). The budget calls
   * `giveUp` at most once to cancel it.
   */
  yieldTo(giveUp: () => void): void;
  /** Reports how the started request ended. */
  finished(result: SlotResult): void;
}

/** Budget of one access key. All access keys of a user share the request rate and the limit on search jobs. */
export interface KeyBudget {
  /** Permits for search jobs, which limit the user's number of active search jobs (B4, B5). */
  readonly jobs: JobAdmission;
  /**
   * Waits for permission to send a request. Rejects with the signal's reason, a `BudgetFullError` or a
   * `NotLeadingError`.
   */
  acquire(request: SlotRequest): Promise<Slot>;
}
