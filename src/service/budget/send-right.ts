/**
 * Right to send requests to the service. Only the leader has this right (L1). Writing a request requires a `Departure`,
 * which `depart` creates after checking the right.
 */

/** Uninterrupted period during which this process is the leader. */
export interface Term {
  /** Number of this term of leadership, unique within the process. */
  readonly number: number;
  readonly sinceMs: number;
  /** True if the former leader did not hand over its leadership. Its requests may then still be in flight (B6). */
  readonly tookOverByForce: boolean;
}

/** Tells whether this process may send requests to the service. */
export interface SendRight {
  /**
   * Returns this process's current term of leadership, or undefined while this process may not send requests. Must not
   * block.
   */
  current(): Term | undefined;
}

/** Error for a request that was not sent, because this process is not the leader. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError';
  override readonly message =
    'this process is no longer the leader, so another process may now be sending the requests';
}

/** Proof that this process was still the leader immediately before a request was written. */
class GrantedDeparture {
  /** Monotonic time in ms of the write. */
  readonly atMs: number;
  /** Field that is never set. It prevents the compiler from accepting other objects as a `Departure`. */
  declare protected readonly brand: never;

  constructor(atMs: number) {
    this.atMs = atMs;
  }
}

export type Departure = GrantedDeparture;

/**
 * Checks, immediately before a request is written, that this process is still the leader. Throws a `NotLeadingError` if
 * `term` is no longer the current term.
 */
export function depart(right: SendRight, term: Term, nowMs: number): Departure {
  if (right.current()?.number !== term.number) throw new NotLeadingError();
  return new GrantedDeparture(nowMs);
}
