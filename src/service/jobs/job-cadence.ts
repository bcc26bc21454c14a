/**
 * Times of the status requests for a search job. These requests keep the job alive and show its progress.
 *
 * - Keep-alive: 12 s after the last answered request for the job (B4).
 * - First progress check: at the expected end of the search, but at least 2 s after the job's creation.
 * - Next progress check: shortly after the estimated end of the search. The end is estimated from the histogram,
 *   because the search runs backwards in time (section 2.3 of docs/service.md).
 *
 * A failed status request is retried twice immediately, and then with increasing delays.
 */

/** Time in ms from the last answered request for a search job to the next keep-alive of the job. */
export const keepAliveMs = 12_000;

const soonestPollMs = 2_000;
/** Time in ms from a job's creation to its first status request, if the expected duration of the search is unknown. */
const usualPollMs = 2_500;
/**
 * Fraction by which the estimated duration of a search is increased. `overshootMs` is then added, so that the search
 * has probably finished by the next progress check.
 */
const overshootShare = 0.1;
const overshootMs = 250;
/** Minimum time between two progress checks, as a fraction of the job's age. */
const minWaitShare = 0.1;
const minWaitMs = 500;
/**
 * Age of a search job, in ms, at which a progress check is scheduled. Searches that take up to 10 s have finished by
 * then.
 */
const shortSearchMs = 10_500;

export interface SearchProgress {
  /** Time in ms from the job's creation to the request whose response contained this status. */
  readonly elapsedMs: number;
  /** Longest possible duration of the search so far, in ms. The exact start of the search is unknown. */
  readonly searchingMs: number;
  /** Fraction of the time range that has been searched so far, from 0 to 1. Undefined if unknown. */
  readonly doneShare: number | undefined;
  /** Number of the job's status requests that have been answered so far. */
  readonly statuses: number;
}

/**
 * Returns the time in ms from a job's creation to its first status request.
 * @param expectedMs expected duration of the search in ms
 */
export function firstPollMs(expectedMs = usualPollMs): number {
  return Math.min(keepAliveMs, Math.max(soonestPollMs, expectedMs));
}

/** Returns the time in ms until the next progress check. */
export function nextPollMs(progress: SearchProgress): number {
  const { elapsedMs, statuses } = progress;
  const untilShortMs = shortSearchMs - elapsedMs;
  const minMs = Math.max(minWaitMs, minWaitShare * elapsedMs, statuses > 1 ? untilShortMs : 0);
  const maxMs = Math.max(untilShortMs, elapsedMs);
  return Math.min(keepAliveMs, Math.max(minMs, Math.min(maxMs, remainingMs(progress))));
}

/** Returns the estimated remaining search time in ms, or Infinity if unknown. */
function remainingMs({ searchingMs, doneShare }: SearchProgress): number {
  if (!doneShare) return Number.POSITIVE_INFINITY;
  return (searchingMs / doneShare) * (1 + overshootShare) + overshootMs - searchingMs;
}

/**
 * Time in ms from the last answered request to the second keep-alive, which is sent only if the first one got no
 * response.
 */
export const secondTryMs = 16_000;

/**
 * Returns the time in ms to wait for a response before the status request is sent again.
 * @param tries number of status requests since the last response
 */
export function pollTimeoutMs(tries: number): number {
  return pollTimeoutsMs[Math.max(1, tries) - 1] ?? lastPollTimeoutMs;
}

const pollTimeoutsMs: readonly number[] = [2_000, 2_000, 4_000];
const lastPollTimeoutMs = 8_000;

/**
 * Returns the delay in ms before the next status request.
 * @param tries number of consecutive failed status requests
 */
export function delayAfterFailure(tries: number): number {
  return delays[tries - 1] ?? lastDelayMs;
}

const delays: readonly number[] = [0, 0, 1_000, 2_000];
const lastDelayMs = 4_000;
