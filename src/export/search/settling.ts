/** Age of the time range that may be searched (E11): messages arrive late, and a search that is too early misses them permanently. */

export interface SettlingFacts {
  readonly settleDelayMs: number;
  /** Time in ms by which the service's clock is behind ours, at least 0. The earlier clock counts. */
  readonly clockBehindMs: number;
}

/** Age in ms from which rows are settled. */
export function settlingMs({ settleDelayMs, clockBehindMs }: SettlingFacts): number {
  return settleDelayMs + clockBehindMs;
}
