/**
 * Right to send requests to the service. Only the leader has this right (L1). Each write of a request needs a
 * `Departure`, which `depart` creates after it has checked the right.
 */

/** Uninterrupted period in which this process is the leader. */
export interface Term {
  /** Unique number of the term within the process. */
  readonly number: number;
  readonly sinceMs: number;
  /** True if the former leader did not hand over its leadership. Its requests may still be in flight (B6). */
  readonly tookOverByForce: boolean;
}

/** Tells whether this process may send requests to the service. */
export interface SendRight {
  /** Returns the current term as the leader, or undefined while this process may not send requests. Must not block. */
  current(): Term | undefined;
}

/** The request was not sent, because this process is not the leader. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError';
  override readonly message = 'this process is no longer the leader, and another process may now send the requests';
}

/** Proves that the right to send was checked right before a request was written. */
class GrantedDeparture {
  /** Monotonic time in ms of the write. */
  readonly atMs: number;
  /** Field that is never set. It makes the compiler reject other objects as this type. */
  declare protected readonly brand: never;

  constructor(atMs: number) {
    this.atMs = atMs;
  }
}

export type Departure = GrantedDeparture;

/** Permits the write of one request. Throws a `NotLeadingError` if `term` is no longer the current term. */
export function depart(right: SendRight, term: Term, nowMs: number): Departure {
  if (right.current()?.number !== term.number) throw new NotLeadingError();
  return new GrantedDeparture(nowMs);
}
