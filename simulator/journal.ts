/** The journal: one entry for each request, written when the request is over. */
import type { JobEnd } from './search/search-job.ts';

/**
 * Details of an error, beyond its status and code:
 * - for 429, the exceeded limit
 * - `neverWas`, `otherUser`, `cookies`, `lag`: the search job never existed, belongs to another user, needs other cookies, or is
 *   too new
 * - `ended`: the search job ended so long ago that it is not stored any more
 * - other values: the reason why the search job ended
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
  /** Null if status and code say enough, or if a fault made the error. */
  readonly why: Why | null;
  /** Number of unanswered requests of the access key when this one arrived, including this one. */
  readonly inFlight: number;
  /** Number of requests of the user that arrived within the second before this one, including this one. */
  readonly perSecond: number;
  readonly operation: string | null;
  /** Name of the fault that was applied. */
  readonly fault: string | null;
  /** Decimal digits; only for the creation of a task. */
  readonly collectorId: string | null;
  /** Id (decimal digits) of the upgrade task that the request created, even if the answer was lost. */
  readonly taskId: string | null;
  /** Id of the search job that the request created or asked for. The job need not exist. */
  readonly jobId: string | null;
}
