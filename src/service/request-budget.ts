/**
 * The request budget of one user of one service host (protocol B): when a request may leave, seen from the server.
 */
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';

/** What a request is for; decides who goes first (B3). */
export type RequestClass = 'keepAlive' | 'pageRead' | 'taskCreation' | 'taskStatus' | 'listing' | 'jobCreation';

export interface SlotRequest {
  readonly class: RequestClass;
  /** When it should leave at the latest, on the monotonic clock; now, where absent. Orders requests of one class. */
  readonly dueMs?: number;
  /** Leaves the queue when aborted: `acquire` rejects with the signal's reason. Without effect on a granted slot. */
  readonly signal?: AbortSignal;
}

/**
 * How a request that was started ended.
 * - `answered`: the answer was read to its end, whatever its status. `headAtMs` is when its head came, on the monotonic clock;
 *   where absent, the time of the call counts.
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

/** The right to send one request now. Ends with `release` or `finished`; a second end changes nothing. */
export interface Slot {
  /** The request is about to be written NOW: stamps the start. Called exactly once, or `release` instead. */
  started(): void;
  /** Never sent: gives rate and concurrency back. */
  release(): void;
  /** An answer came, or the socket is dead. After `abandoned`, a late `answered` frees the place before its time. */
  finished(outcome: SlotOutcome): void;
}

/** The share of one access key: its own concurrency, and the rate that all keys of the user share. */
export interface KeyBudget {
  /** Waits for its turn. Rejects with the signal's reason, or a `ServiceError` `service.budget.full` when too many wait. */
  acquire(request: SlotRequest): Promise<Slot>;
  /** We begin to lead (B6). `forced`: the one before us did not release, and may still have requests under way. */
  takeover(forced: boolean): void;
}

export interface RequestBudgetOptions {
  readonly clock: Clock;
  readonly metrics?: Metrics;
  /** This process's share of the user's rate (B7); may be a fraction. 4 where absent. */
  readonly requestsPerSecond?: number;
}

export class RequestBudget {
  constructor(_options: RequestBudgetOptions) {}

  /** The budget of one access key: the same for the same id. `maxConcurrent` (10 where absent) is this process's share (B7). */
  key(_accessKeyId: string, _maxConcurrent?: number): KeyBudget {
    throw new Error('not yet');
  }
}
