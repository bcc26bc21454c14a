/** Computes which rows are old enough to be searched. Newer rows may still arrive, and a search that runs too early misses them (E11). */

/**
 * Minimum age in ms of rows that may be searched, by the clock of logfleet. `clockBehindMs` is the time by which the service's clock is
 * behind the clock of logfleet; at least 0.
 */
export function settlingMs(settleDelayMs: number, clockBehindMs: number): number {
  return settleDelayMs + clockBehindMs;
}
