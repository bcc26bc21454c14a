/** The journal: one entry for each request, written when the request is over. */
import type { JobEnd } from './search/search-job.ts';

/**
 * The detail behind the status and code of an error. For 429, the limit that was exceeded. For a search job, the reason why it is not
 * available:
 * - `neverWas`, `otherUser`, `cookies`, `lag`: it never existed, belongs to another user, needs other cookies, or is too new.
 * - the reason of its end; `ended` if the job is not stored any more.
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
  /** Times of arrival and end, in fractional ms since the epoch. */
  readonly at: number;
  readonly end: number;
  /** Null without valid credentials. */
  readonly user: string | null;
  readonly method: string;
  readonly path: string;
  /** HTTP status; 0 if the client did not receive the whole answer. */
  readonly status: number;
  /** Error identifier of the answer. */
  readonly code: string | null;
  /** Null if the code is precise enough, or if a fault made the error. */
  readonly why: Why | null;
  /** Number of unanswered requests of the access key at arrival, with this one. */
  readonly inFlight: number;
  /** Number of arrivals of the user within the second before this one, with this one. */
  readonly perSecond: number;
  readonly operation: string | null;
  /** Name of the fault that was applied. */
  readonly fault: string | null;
  /** Decimal digits; only for the creation of a task. */
  readonly collectorId: string | null;
  /** Decimal digits of the task that the request created, even if the answer was lost. */
  readonly taskId: string | null;
  /** Id of the search job that the request created or asked for. The job need not exist. */
  readonly jobId: string | null;
}
