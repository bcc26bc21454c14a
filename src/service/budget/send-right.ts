/**
 * Right to send requests to the service (L1), which only the leading process has.
 *
 * Invariant: no request is written without a `Departure`, the proof that `depart` has checked this right.
 */
import { LogfleetError } from '../../base/errors.ts';

/** Term of leadership: an uninterrupted period in which this process may send requests. */
export interface Term {
  /** Unique number of the term within the process. */
  readonly number: number;
  readonly sinceMs: number;
  /** Whether the former leader ended without handing over, so that its requests may still be in flight (B6). */
  readonly tookOverByForce: boolean;
}

/**
 * Interface that tells whether this process may send requests to the service. It is implemented by the Kubernetes
 * lease, by the locks of directories, and by commands that work alone.
 */
export interface SendRight {
  /**
   * Current term of leadership; undefined while this process may not send. The budget calls this function before each
   * write, so it must not block.
   */
  current(): Term | undefined;
}

/**
 * Error for a request that was not sent because this process does not have the lease or the lock, or lost it while
 * the request waited.
 */
export class NotLeadingError extends LogfleetError {
  override readonly name = 'NotLeadingError';

  constructor() {
    const message = 'this process is no longer the leader: another process may send requests in its place';
    super({ code: 'service.notLeading', message, handling: { kind: 'backoff' }, reason: 'NotLeading' });
  }
}

/**
 * Proof that the right to send was checked in the same turn of the event loop in which the request is written. Only
 * this file can create the proof.
 */
class GrantedDeparture {
  /** Monotonic time in ms at which the request is written. */
  readonly atMs: number;
  /**
   * Field that is never set. Because of this field, the compiler rejects other objects with the same fields as a proof.
   */
  declare protected readonly brand: never;

  constructor(atMs: number) {
    this.atMs = atMs;
  }
}

export type Departure = GrantedDeparture;

/**
 * Creates the proof that a request may be written now. Throws a `NotLeadingError` unless `term` is still the current
 * term of leadership.
 */
export function depart(right: SendRight, term: Term, nowMs: number): Departure {
  if (right.current()?.number !== term.number) throw new NotLeadingError();
  return new GrantedDeparture(nowMs);
}
