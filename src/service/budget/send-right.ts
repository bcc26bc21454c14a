/**
 * Right to send requests to the log service (L1): the port through which the request budget learns whether this process is the
 * leader.
 *
 * Invariant: only `depart` creates a `Departure`, after asking the port. A transport writes no request without one, so nothing can
 * be sent without the right.
 */
import { LogfleetError } from '../../base/errors.ts';

/** Uninterrupted period in which this process may send. */
export interface Term {
  /** Unique number of the term within the process. */
  readonly number: number;
  /** Monotonic start of the term in ms. */
  readonly sinceMs: number;
  /** Whether the former leader ended without handing over, so that its requests may still be in flight (B6). */
  readonly tookOverByForce: boolean;
}

/**
 * Port that tells whether this process may send. Implementations: the lease, the locks of directories, and commands that work
 * alone.
 */
export interface SendRight {
  /** Current term, or undefined while this process may not send. Called before each write, and must not block. */
  current(): Term | undefined;
}

/**
 * Error for a request that was not sent because this process does not have the lease or the lock, or lost it while the request
 * waited.
 */
export class NotLeadingError extends LogfleetError {
  override readonly name = 'NotLeadingError';

  constructor() {
    const message = 'this process no longer leads: another process may send in its place';
    super({ code: 'service.notLeading', message, handling: { kind: 'backoff' }, reason: 'NotLeading' });
  }
}

/** Proof that the right to send was checked in the turn in which a request is written. The class is private to this file. */
class GrantedDeparture {
  /** Monotonic time of the write in ms. */
  readonly atMs: number;
  /** Never set. It prevents the compiler from accepting other objects of this shape. */
  declare protected readonly brand: never;

  constructor(atMs: number) {
    this.atMs = atMs;
  }
}

export type Departure = GrantedDeparture;

/** Creates the proof for a request that is written now. Throws a `NotLeadingError` unless `term` is still current. */
export function depart(right: SendRight, term: Term, nowMs: number): Departure {
  if (right.current()?.number !== term.number) throw new NotLeadingError();
  return new GrantedDeparture(nowMs);
}
