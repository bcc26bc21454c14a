/** Decides which rows are old enough to be searched, because newer rows may still arrive (E11). */

/**
 * Returns the minimum age in ms of searched rows. `clockBehindMs` is the delay of the service's clock behind logfleet's
 * clock.
 */
export function settlingMs(settleDelayMs: number, clockBehindMs: number): number {
  return settleDelayMs + clockBehindMs;
}
