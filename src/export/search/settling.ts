/** Decides which rows are old enough to be searched. Newer rows may still be arriving (E11). */

/**
 * Returns the age in ms that rows must have before they are searched. `clockBehindMs` is the time by which the
 * service's clock is behind logfleet's clock.
 */
export function settlingMs(settleDelayMs: number, clockBehindMs: number): number {
  return settleDelayMs + clockBehindMs;
}
