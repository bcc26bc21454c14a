/**
 * Minimum age of rows that may be searched (E11). Messages arrive late, and a search that runs too early misses them
 * permanently.
 */

export interface SettlingFacts {
  readonly settleDelayMs: number;
  /**
   * Time in ms by which the service's clock is behind the clock of logfleet, at least 0. The age of rows is measured by the clock that
   * shows the earlier time.
   */
  readonly clockBehindMs: number;
}

/** Age in ms from which rows are old enough to be searched, because all of them should have arrived. */
export function settlingMs({ settleDelayMs, clockBehindMs }: SettlingFacts): number {
  return settleDelayMs + clockBehindMs;
}
