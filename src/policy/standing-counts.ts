/** How many collectors stand how. */
import type { Standing } from './standing.ts';

export type Counts = { readonly [S in Standing]: number };

export type MutableCounts = { [S in Standing]: number };

/** Of all standings together. */
export function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Collectors that are still to be brought to the target, or on their way. */
export function outstanding(counts: Counts): number {
  return counts.pending + counts.inProgress + counts.retrying + counts.drifting;
}

/** The counts once attempts that were written ahead, and never sent, are withdrawn. */
export function withdrawn(counts: Counts, unsent: number): Counts {
  const leaving = Math.min(unsent, counts.inProgress);
  return { ...counts, inProgress: counts.inProgress - leaving, pending: counts.pending + leaving };
}

export function emptyCounts(): MutableCounts {
  return {
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
}
