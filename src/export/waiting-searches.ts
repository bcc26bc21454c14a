/** Searches that wait for a job, for messages to users. */
import type { Search } from './work-options.ts';

/** Time in ms within which a job is usually created if no other job is ahead. */
const noteworthyMs = 10_000;

export interface WaitingSearches {
  readonly count: number;
  /** Time in ms until another search may count as waiting; infinite if time alone adds none. */
  readonly delayMs: number;
}

export function waitingSearches(
  searches: readonly Pick<Search, 'begunAtMs' | 'createdAtMs'>[],
  nowMs: number,
): WaitingSearches {
  const leftMs = searches
    .filter(({ createdAtMs }) => createdAtMs === undefined)
    .map(({ begunAtMs }) => begunAtMs + noteworthyMs - nowMs);
  const comingMs = leftMs.filter((ms) => ms > 0);
  return { count: leftMs.length - comingMs.length, delayMs: Math.min(Number.POSITIVE_INFINITY, ...comingMs) };
}
