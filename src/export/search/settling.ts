/** Decides which rows are old enough to be searched. Newer rows may still be arriving (E11). */

/**
 * Returns the minimum age in ms of rows that are searched. `clockBehindMs` is the time by which the service's clock is
 * behind logfleet's clock.
 */
export function settlingMs(settleDelayMs: number, clockBehindMs: number): number {
  return settleDelayMs + clockBehindMs;
}
