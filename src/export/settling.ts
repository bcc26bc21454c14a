/** How far behind our clock a time range is that may be searched (E11): messages arrive late, and a search too early misses them for good. */

export interface SettlingFacts {
  readonly settleDelayMs: number;
  /** By how much the service's clock is behind ours, at least 0: the earlier of both counts. */
  readonly clockBehindMs: number;
}

/** What is older than now minus this is settled. */
export function settlingMs({ settleDelayMs, clockBehindMs }: SettlingFacts): number {
  return settleDelayMs + clockBehindMs;
}
