/** Journal of the simulated service, with one entry per finished request. */

/**
 * Why a search job ended. `silence`: it received no requests. `timeout`: it reached its maximum age. `deleted`: a
 * client deleted it. `fault`: a fault in the scenario ended it.
 */
export type JobEnd = 'silence' | 'timeout' | 'deleted' | 'fault';

/**
 * Detailed reason for an error response:
 * - `rate`, `concurrency`, `activeJobs`: the request exceeded this limit
 * - `neverWas`: no search job with this id has ever existed
 * - `otherUser`: another user created the search job
 * - `cookies`: the request lacks the search job's cookies
 * - `lag`: the service does not yet know the new search job
 * - `ended`: the search job ended so long ago that it can no longer be read
 * - any other value: the reason why the search job ended
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
  /** Times at which the request arrived and ended, in ms since the epoch, with fractions. */
  readonly at: number;
  readonly end: number;
  /** User who sent the request, or null if the credentials are invalid. */
  readonly user: string | null;
  readonly method: string;
  readonly path: string;
  /** HTTP status, or 0 if the client did not receive the whole response. */
  readonly status: number;
  /** Error code of the response, or null if the response is not an error. */
  readonly code: string | null;
  /** Detailed reason for the error response, for example the limit that the request exceeded. */
  readonly why: Why | null;
  /** Number of requests in flight with the same access key, including the current request. */
  readonly inFlight: number;
  /** Number of requests by the user in the last second, including the current request. */
  readonly perSecond: number;
  readonly operation: string | null;
  /** Name of the scenario fault that applied to the request, or null if none applied. */
  readonly fault: string | null;
  /** Collector id, in decimal digits, in a request to create an upgrade task. */
  readonly collectorId: string | null;
  /** Id, in decimal digits, of the upgrade task that the request created. It is set even if the response was lost. */
  readonly taskId: string | null;
  /** Id of the search job that the request created or referred to. A job with this id may not exist. */
  readonly jobId: string | null;
}
