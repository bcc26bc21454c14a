/** Computes which rows are old enough to search, because newer rows may still arrive (E11). */

/**
 * Returns the minimum age in ms of rows to search. `clockBehindMs` is the time by which the service's clock is behind
 * logfleet's clock.
 */
export function settlingMs(settleDelayMs: number, clockBehindMs: number): number {
  return settleDelayMs + clockBehindMs;
}
