/**
 * Times of a search job's status requests, which keep the job alive and show its progress.
 *
 * - Keep-alive (B4): 12 s after the last answered request for the status or the results of the job was sent.
 * - First progress check: at the expected end of the search, judged by other searches, but at least 2 s after the creation of
 *   the job; after 2.5 s if nothing is known.
 * - Next progress check: shortly after the estimated end. A search runs from the end of its time range to the beginning (2.3),
 *   so its histogram shows the completed ratio. Without a usable estimate, the check is sent 10.5 s after the creation, or
 *   after twice the elapsed time. The third status request is not sent before this time either.
 *
 * A search of less than 2 s needs one status request, a search of less than 10 s usually two, and a long search only its
 * keep-alives.
 *
 * A failed status request is repeated immediately, once more after that, and then less often. An unanswered progress check is
 * repeated when a keep-alive is due, and an unanswered keep-alive after 16 s, so that it arrives within the service's limit of
 * 20 s.
 */

/** Time in ms from the last answered request to the next keep-alive. */
export const keepAliveMs = 12_000;

const soonestPollMs = 2_000;
/** Default time in ms from a job's creation to its first status request, if the duration of searches is unknown. */
const usualPollMs = 2_500;
/** Allowance for a search that takes longer than estimated: this ratio of the estimated duration, plus `overshootMs`. */
const overshootShare = 0.1;
const overshootMs = 250;
/** Minimum time between two progress checks of a search job: this ratio of the job's age, but at least `leastWaitMs`. */
const leastWaitShare = 0.1;
const leastWaitMs = 500;
/** Age in ms of a search job at which every search of up to 10 s has ended: 10 s, plus its start and network delays. */
const shortSearchMs = 10_500;

/** Progress of a search job, from which the time of the next status request is computed. */
export interface SearchProgress {
  /** Time in ms from the request that created the job to the request for this status. */
  readonly elapsedMs: number;
  /**
   * Maximum time in ms for which the search can have been running: the time since the last status that showed that the
   * search had not started yet.
   */
  readonly searchingMs: number;
  /** Completed ratio of the search's time range, 0 to 1; undefined if unknown. */
  readonly doneShare: number | undefined;
  /** Number of answered status requests of the job, including this one. */
  readonly statuses: number;
}

/**
 * Time in ms from the creation of a search job to its first status request. `expectedMs` is the expected duration of
 * the search.
 */
export function firstPollMs(expectedMs = usualPollMs): number {
  return Math.min(keepAliveMs, Math.max(soonestPollMs, expectedMs));
}

/** Time in ms from a status of the job to the next status request that checks the job's progress. */
export function nextPollMs(progress: SearchProgress): number {
  const { elapsedMs, statuses } = progress;
  const untilShortMs = shortSearchMs - elapsedMs;
  const leastMs = Math.max(leastWaitMs, leastWaitShare * elapsedMs, statuses > 1 ? untilShortMs : 0);
  const mostMs = Math.max(untilShortMs, elapsedMs);
  return Math.min(keepAliveMs, Math.max(leastMs, Math.min(mostMs, remainingMs(progress))));
}

/** Estimated remaining time of the search in ms; infinite if unknown. */
function remainingMs({ searchingMs, doneShare }: SearchProgress): number {
  if (!doneShare) return Number.POSITIVE_INFINITY;
  return (searchingMs / doneShare) * (1 + overshootShare) + overshootMs - searchingMs;
}

/**
 * Time in ms from the last answered request of a search job to a second keep-alive, which is sent if the first keep-alive has no
 * answer yet.
 */
export const secondTryMs = 16_000;

/**
 * Time in ms after which a status request without an answer is repeated. `tries` is the number of status requests that
 * were sent since the last answer.
 */
export function patienceMs(tries: number): number {
  return patiences[Math.max(1, tries) - 1] ?? lastPatienceMs;
}

const patiences: readonly number[] = [2_000, 2_000, 4_000];
const lastPatienceMs = 8_000;

/** Delay in ms before the next status request, after `tries` consecutive requests have failed. */
export function delayAfterFailure(tries: number): number {
  return delays[tries - 1] ?? lastDelayMs;
}

const delays: readonly number[] = [0, 0, 1_000, 2_000];
const lastDelayMs = 4_000;
