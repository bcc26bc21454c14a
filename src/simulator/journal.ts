/** The record of requests: one entry each, complete when the request is over. */

export interface JournalEntry {
  /** Arrival and end, ms since the epoch, fractional. */
  readonly at: number;
  readonly end: number;
  /** Null where the credentials proved nobody. */
  readonly user: string | null;
  readonly method: string;
  readonly path: string;
  /** 0 where the client got no whole answer. */
  readonly status: number;
  /** The error identifier in the answer, or null. */
  readonly code: string | null;
  /** Unanswered requests of the same access key at arrival, this one among them. */
  readonly inFlight: number;
  /** Arrivals of the same user within the second that ended with this one. */
  readonly perSecond: number;
  readonly operation: string | null;
  /** The name of the fault that struck, or null. */
  readonly fault: string | null;
  /** Decimal digits; of requests to create a task. */
  readonly collectorId: string | null;
  /** Decimal digits; of the task that this request made, also where the client did not hear of it. */
  readonly taskId: string | null;
}
