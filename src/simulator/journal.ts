/** The record of requests: one entry each, complete when the request is over. */
import type { JobEnd } from './search/search-job.ts';

/**
 * What status and code of an error leave open: which limit was met (429), or why a search job is not to be had.
 * - `neverWas`, `otherUser`, `cookies`, `lag`: there was no such job, it is of another user, its cookies did not come, it is too new.
 * - how a job ended; `ended`, where that was so long ago that nobody knows.
 */
export type Why =
  | 'rate'
  | 'concurrency'
  | 'activeJobs'
  | 'neverWas'
  | 'otherUser'
  | 'cookies'
  | 'lag'
  | JobEnd
  | 'ended';

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
  /** Null where the code says it all, or a fault made it up. */
  readonly why: Why | null;
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
  /** Of the search job that this request made, also where the client did not hear of it, or that it asked for, whether or not there is one. */
  readonly jobId: string | null;
}
