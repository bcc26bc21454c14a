/** Journal of the simulated service: one entry for each request, written when the request has ended. */
import type { JobEnd } from './search/search-job.ts';

/**
 * Reason for an error answer if its status and error code do not show the reason:
 * - `rate`, `concurrency`, `activeJobs`: the limit that the request exceeded
 * - `neverWas`: the search job never existed
 * - `otherUser`: the search job belongs to another user
 * - `cookies`: the request lacks the cookies of the search job
 * - `lag`: the search job is so new that the service does not find it yet
 * - `ended`: the search job ended long ago and is no longer stored
 * - all others: why the search job ended
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
  /** Times at which the request arrived and ended, in fractional ms since the epoch. */
  readonly at: number;
  readonly end: number;
  /** Name of the user that sent the request; null for invalid credentials. */
  readonly user: string | null;
  readonly method: string;
  readonly path: string;
  /** HTTP status of the answer; 0 if the client did not receive the whole answer. */
  readonly status: number;
  /** Code of the error in the answer, such as `collector.in.upgrading`; null if the answer is not an error. */
  readonly code: string | null;
  /** Reason for the error if the status and the error code do not already show it; otherwise null. */
  readonly why: Why | null;
  /** Number of requests in flight with the same access key when this request arrived, including this request. */
  readonly inFlight: number;
  /** Number of requests by the same user that arrived within the second before this one, including this one. */
  readonly perSecond: number;
  readonly operation: string | null;
  /** Name of the fault in the scenario that changed the request or its answer. */
  readonly fault: string | null;
  /** Collector id in decimal digits; only for requests that create an upgrade task. */
  readonly collectorId: string | null;
  /** Id, in decimal digits, of the upgrade task that the request created. Set even if the answer was lost. */
  readonly taskId: string | null;
  /** Id of the search job that the request created or named. A job with this id need not exist. */
  readonly jobId: string | null;
}
