/** Searches that wait for a job of their own, as people are told. */
import type { Search } from './work-options.ts';

/** The creation of a job takes less, mostly, where nobody else is before it. */
const noteworthyMs = 10_000;

export interface WaitingSearches {
  readonly count: number;
  /** After how long there may be one more; infinite where time alone makes none. */
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
