/** Computes which rows are old enough to be searched. Newer rows may still arrive, and a search that runs too early misses them (E11). */

export interface SettlingFacts {
  readonly settleDelayMs: number;
  /** Time in ms by which the service's clock is behind the clock of logfleet; at least 0. */
  readonly clockBehindMs: number;
}

/** Minimum age in ms of rows that may be searched, by the clock of logfleet. */
export function settlingMs({ settleDelayMs, clockBehindMs }: SettlingFacts): number {
  return settleDelayMs + clockBehindMs;
}
