/**
 * Interface between the request budget (which keeps the service's limits) and the senders of
 * requests: a request asks for a slot, and reports its outcome when it ends.
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

/** Network path to one origin of the service, as the request budget sees it. */
export interface Path {
  readonly origin: string;
  /**
   * Opens a new connection to the origin without a request. The completed handshake shows that the server reads what has arrived
   * (B1). Rejects if no connection is possible.
   */
  probe(): Promise<void>;
}

export interface SlotRequest {
  readonly class: RequestClass;
  /**
   * Network path of the request. Without a path, only the request's own answer can show that the
   * request has arrived.
   */
  readonly path?: Path | undefined;
  /**
   * Monotonic time in ms at which the request is due; now by default. Among requests of a class,
   * the earliest is sent first.
   */
  readonly dueMs?: number | undefined;
  /** Whether the request asks for the status of a search job. A status request keeps its slot for a shorter time after it was cancelled (B2). */
  readonly isPoll?: boolean | undefined;
  /**
   * Signal that removes the waiting request from the queue: when aborted, `acquire` rejects with
   * the signal's reason. The signal has no effect after the slot was granted.
   */
  readonly signal?: AbortSignal | undefined;
}

/**
 * End of a started request.
 * - `answered`: the answer was read completely, whatever its status. `headAtMs` is the monotonic arrival time of its head; default:
 *   now. `retryAfterMs` is the value of `Retry-After`.
 * - `abandoned`: cancelled by deadline or abort. The server may still work on it, so its slot is kept for a while (B2).
 * - `broken`: the server closed the connection.
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
 * Right to send one request now.
 *
 * ```text
 * granted ── started ──▶ in flight ── answered, broken ──────────────▶ ended
 *    │                      └─ abandoned ──▶ held ── fixed time, or late answer ──▶ ended
 *    └── release ──▶ ended
 * ```
 *
 * Calls after the end have no effect, so a `finally` block can always call `release`. A granted slot counts as starting at any
 * time, and delays other requests. So acquire it only with an established connection (B1).
 */
export interface Slot {
  /**
   * Starts the request, right before its write: asks for the right to send (L1), calls `lastCheck`, and records the start. Each
   * slot needs exactly one call of `started` or `release`. If `started` throws a `NotLeadingError` or an error of `lastCheck`,
   * nothing may be written, and `release` must follow.
   */
  started(lastCheck?: () => void): Departure;
  /**
   * Returns a slot that was not used. After `started`, when the request may have been sent, this call has the effect of
   * the outcome `abandoned`.
   */
  release(): void;
  /**
   * Reports that the first bytes of the answer arrived at `headAtMs` (monotonic ms), so that the delay of the network path is
   * known before a long body ends. The call is optional.
   */
  heard(headAtMs: number): void;
  /**
   * Allows the request's slot to be taken for a keep-alive (B4). `giveUp` is called at most once,
   * when a keep-alive with the same access key finds no free slot. The longest running request is
   * cancelled first.
   */
  yieldTo(giveUp: () => void): void;
  /**
   * Ends the request and reports its outcome. After `abandoned`, a late `answered` or `broken`
   * frees the slot early.
   */
  finished(outcome: SlotOutcome): void;
}

/** Budget of one access key: its own concurrency, and the rate and search jobs shared by all keys of the user. */
export interface KeyBudget {
  /** Limit for the number of active search jobs of the user (B4, B5). */
  readonly jobs: JobAdmission;
  /**
   * Waits for the right to send one request. Rejects with the signal's reason, with a
   * `BudgetFullError` if too many requests wait, or with a `NotLeadingError` when this process may
   * not send.
   */
  acquire(request: SlotRequest): Promise<Slot>;
}
