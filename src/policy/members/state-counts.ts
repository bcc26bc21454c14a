/** Counts of a policy's collectors by state. */

const noCounts = {
  updated: 0,
  inProgress: 0,
  pending: 0,
  retrying: 0,
  drifting: 0,
  failed: 0,
  offline: 0,
  newer: 0,
  skipped: 0,
  foreign: 0,
};

export type MutableCounts = typeof noCounts;

export type Counts = Readonly<MutableCounts>;

export function emptyCounts(): MutableCounts {
  return { ...noCounts };
}

/** Returns the total number of collectors in all states. */
export function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Returns the number of collectors that are waiting for an upgrade or being upgraded. */
export function countUnfinished(counts: Counts): number {
  return counts.pending + counts.inProgress + counts.retrying + counts.drifting;
}

/**
 * Returns the counts after unsent upgrades have been cancelled. The collectors of these upgrades count as pending
 * again.
 */
export function withdrawn(counts: Counts, unsent: number): Counts {
  const leaving = Math.min(unsent, counts.inProgress);
  return { ...counts, inProgress: counts.inProgress - leaving, pending: counts.pending + leaving };
}
