/** Journal of the simulated service, with one entry for each finished request. */

/**
 * Why a search job ended. `silence`: it got no requests. `timeout`: it reached its maximum age. `deleted`: a client
 * deleted it. `fault`: a fault of the scenario ended it.
 */
export type JobEnd = 'silence' | 'timeout' | 'deleted' | 'fault';

/**
 * Detailed reason for an error response:
 * - `rate`, `concurrency`, `activeJobs`: the request exceeded this limit
 * - `neverWas`: no search job with this id has ever existed
 * - `otherUser`: another user created the search job
 * - `cookies`: the request lacks the cookies of the search job
 * - `lag`: the service does not know the new search job yet
 * - `ended`: the search job ended so long ago that it can no longer be read
 * - all other values: why the search job ended
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
  /** User that sent the request; null for invalid credentials. */
  readonly user: string | null;
  readonly method: string;
  readonly path: string;
  /** HTTP status; 0 if the client did not receive the whole response. */
  readonly status: number;
  /** Error code of the response; null for a response without an error. */
  readonly code: string | null;
  /** Detailed reason for the error response, for example the limit that the request exceeded. */
  readonly why: Why | null;
  /** Number of requests in flight with the same access key, including this request. */
  readonly inFlight: number;
  /** Number of the user's requests in the last second, including this request. */
  readonly perSecond: number;
  readonly operation: string | null;
  /** Name of the scenario's fault that applied to the request; null if none applied. */
  readonly fault: string | null;
  /** Decimal collector id of a request that creates an upgrade task. */
  readonly collectorId: string | null;
  /** Decimal id of the upgrade task that the request created, even if the response was lost. */
  readonly taskId: string | null;
  /** Id of the search job that the request created or named. The job need not exist. */
  readonly jobId: string | null;
}
