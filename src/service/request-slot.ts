/**
 * The words between the request budget and whoever sends requests: what is asked for, what is granted, how it ended.
 */
import type { JobAdmission } from './job-admission.ts';
import type { Departure } from './send-right.ts';

/**
 * What a request is for; decides who goes first (B3). `jobCreation` is the creation of a search job (4.1), `jobCare` its deletion (4.5)
 * and looks at it that it does not need to stay alive (4.2).
 */
export type RequestClass =
  | 'keepAlive'
  | 'pageRead'
  | 'taskCreation'
  | 'taskStatus'
  | 'listing'
  | 'jobCreation'
  | 'jobCare';

/** The way to one origin, as far as the budget needs it. */
export interface Path {
  readonly origin: string;
  /**
   * Opens a new connection to the origin, without a request. The completed handshake shows that the server reads what has arrived (B1).
   * Rejects when none comes about.
   */
  probe(): Promise<void>;
}

export interface SlotRequest {
  readonly class: RequestClass;
  /** Where the request goes. Without a path the budget has no other evidence of arrivals than answers. */
  readonly path?: Path;
  /** When it should leave, on the monotonic clock; now, where absent. Within a class, the earliest goes first. */
  readonly dueMs?: number;
  /** A question for a job's status, whichever class it stands in: given up, it keeps its place for a shorter time (B2). */
  readonly isPoll?: boolean;
  /** Leaves the queue when aborted: `acquire` rejects with the signal's reason. Without effect on a granted slot. */
  readonly signal?: AbortSignal;
}

/**
 * How a request that was started ended.
 * - `answered`: the answer was read to its end, whatever its status. `headAtMs` is when its head came, on the monotonic clock;
 *   where absent, the time of the call counts. `retryAfterMs` is what `Retry-After` said.
 * - `abandoned`: given up by deadline or abort; the server may still be busy with it, so its place stays taken for a while (B2).
 * - `broken`: the other side ended the connection.
 */
export type SlotOutcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfterMs?: number;
      readonly headAtMs?: number;
    }
  | { readonly kind: 'abandoned' }
  | { readonly kind: 'broken' };

/**
 * The right to send one request now.
 *
 *     granted ── started ──▶ under way ── answered, broken ──────────────▶ ended
 *        │                      └─ abandoned ──▶ held ── named time, or late answer ──▶ ended
 *        └── release ──▶ ended
 *
 * What comes after an end changes nothing, so that a `finally` may call `release` without a thought. While a slot is granted
 * and not started it counts as about to start, and stands in everybody's way: take it on a connection that stands (B1).
 */
export interface Slot {
  /**
   * The request is about to be written NOW: asks for the right to send (L1), then calls `lastCheck`, and stamps the start. Called
   * exactly once, or `release` instead. Throws a `NotLeadingError`, or what `lastCheck` threw: then nothing may be written, and
   * `release` has to follow.
   */
  started(lastCheck?: () => void): Departure;
  /** Never sent: gives rate and concurrency back. After `started`, when it may have been sent, the same as `abandoned`. */
  release(): void;
  /**
   * The head of the answer came at `headAtMs` on the monotonic clock, and its body may take long: how late the path is, is known
   * from now on. Needs not be said.
   */
  heard(headAtMs: number): void;
  /**
   * It has been waited for long enough: `giveUp` is called, at most once, when a keep-alive poll of its key finds no place (B4), the
   * longest under way first.
   */
  yieldTo(giveUp: () => void): void;
  /** The request is over. After `abandoned`, a late `answered` or `broken` frees its place before the time. */
  finished(outcome: SlotOutcome): void;
}

/** The share of one access key: its own concurrency, and the rate and the search jobs that all keys of the user share. */
export interface KeyBudget {
  /** How many search jobs may be active at once (B4, B5). */
  readonly jobs: JobAdmission;
  /**
   * Waits for its turn. Rejects with the signal's reason, with a `ServiceError` `service.budget.full` when too many wait, or with a
   * `NotLeadingError` as soon as this process may not send.
   */
  acquire(request: SlotRequest): Promise<Slot>;
}
