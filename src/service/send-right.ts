/**
 * The right to send requests to the log service (L1): the port through which the request budget learns whether this process leads.
 *
 * Invariant: a `Departure` is made by `depart` alone, which asks the port first. A transport writes no request without one, so that no
 * caller can send without the right.
 */
import { LogfleetError } from '../base/errors.ts';

/** One stretch of time in which this process may send without interruption. */
export interface Term {
  /** Differs between any two terms of a process. */
  readonly number: number;
  /** When the term began, on the monotonic clock, in ms. */
  readonly sinceMs: number;
  /** Whether the process before this one ended without handing over, so that its requests may still be under way (B6). */
  readonly tookOverByForce: boolean;
}

/** Whether this process may send. Implementations: the lease, the locks of directories, and commands that work alone. */
export interface SendRight {
  /** The current term, or undefined while this process may send nothing. Asked anew before each write; must not wait. */
  current(): Term | undefined;
}

/** A request was not sent because this process does not hold the lease or the lock, or lost it while the request waited. */
export class NotLeadingError extends LogfleetError {
  override readonly name = 'NotLeadingError';

  constructor() {
    const message = 'this process no longer leads: another process may send in its place';
    super({ code: 'service.notLeading', message, handling: { kind: 'backoff' }, reason: 'NotLeading' });
  }
}

/** Proof that the right to send was asked for in the turn in which a request is written. Its class is private to this file. */
class GrantedDeparture {
  /** When the request departs, on the monotonic clock, in ms. */
  readonly atMs: number;
  /** Never there. It keeps the compiler from taking another object of this shape for a proof. */
  declare protected readonly brand: never;

  constructor(atMs: number) {
    this.atMs = atMs;
  }
}

export type Departure = GrantedDeparture;

/** The proof for a request that is written now; throws a `NotLeadingError` unless `term` is still the current one. */
export function depart(right: SendRight, term: Term, nowMs: number): Departure {
  if (right.current()?.number !== term.number) throw new NotLeadingError();
  return new GrantedDeparture(nowMs);
}
