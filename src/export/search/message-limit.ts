/**
 * Decides whether a search was cut at the service's message limit, and where its interval continues (E4). If a complete search is taken for
 * cut, the mistake costs one more job. If a cut search is taken for complete, rows are lost. Every possible sign of a cut therefore counts.
 */

import type { JobProgress, MessageHistogram } from '../../service/jobs/job-gathering.ts';

/** Signs that the service cut a search at its message limit, the most certain sign first. */
export type CutSign =
  /** The service reports that it cut the search. */
  | 'forcePaused'
  | 'warning'
  /** The search was ended shortly before the maximum duration of a query (E13). */
  | 'timeOver'
  /**
   * The job has searched a time range before the start of its interval. Rows of that range belong to other searches.
   */
  | 'beyondInterval'
  /** The search found at least as many rows as an earlier search that the service cut. */
  | 'smallestLimit'
  /** The number of rows is a multiple of 1,000, as limits usually are. */
  | 'roundCount';

export type CutFacts = Pick<JobProgress, 'state' | 'messageCount' | 'isLimitReached'>;

/** Step between possible message limits. Limits are multiples of `roundStep`, starting at `leastRound` (10.2). */
const roundStep = 1_000;
const leastRound = 10_000;

/**
 * Returns the sign that the message limit cut a finished or aborted search, or undefined if the search must be complete. `smallestLimit` is
 * the result of `smallestLimitAfter` for all earlier searches.
 */
export function cutSign(facts: CutFacts, smallestLimit: number | undefined): CutSign | undefined {
  const { state, messageCount, isLimitReached } = facts;
  if (state === 'forcePaused') return 'forcePaused';
  if (isLimitReached) return 'warning';
  if (state !== 'doneGatheringResults') return 'timeOver';
  if (smallestLimit !== undefined && messageCount >= smallestLimit) return 'smallestLimit';
  return isRoundCount(messageCount) ? 'roundCount' : undefined;
}

/** Returns whether a number of rows looks like a message limit. A search with this number counts as cut, whatever the service reports. */
export function isRoundCount(messageCount: number): boolean {
  return messageCount >= leastRound && messageCount % roundStep === 0;
}

/** Returns the smallest message limit that the service has reported, after one more finished search. */
export function smallestLimitAfter(facts: CutFacts, smallestLimit: number | undefined): number | undefined {
  const { messageCount, isLimitReached, state } = facts;
  const isLimit = (isLimitReached || state === 'forcePaused') && messageCount > 0;
  return isLimit ? Math.min(messageCount, smallestLimit ?? messageCount) : smallestLimit;
}

export interface Interval {
  readonly fromMs: number;
  /** End of the interval, which is not part of it. */
  readonly toMs: number;
}

export interface RowOrder {
  readonly byReceiptTime: boolean;
  /**
   * Time of the oldest row inside the interval, by message time or receipt time as in the search; undefined without
   * rows.
   */
  readonly oldestMs: number | undefined;
  /** True if a row was newer than the row before it. Then rows are out of order, and the oldest row does not show which rows are missing. */
  readonly isDisordered: boolean;
}

/** How an interval continues after the service cut its search. */
export type Cut =
  /** The part `[atMs, toMs)` of the interval is complete; `[fromMs, atMs)` is searched again. */
  | { readonly kind: 'at'; readonly atMs: number }
  /** No part of the interval is known to be complete. `[atMs, toMs)` is searched next, then the rest. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /** The millisecond `[atMs, toMs)` alone has as many rows as the message limit, so time cannot divide it. */
  | { readonly kind: 'dense'; readonly atMs: number };

export function cutOf(interval: Interval, { byReceiptTime, oldestMs, isDisordered }: RowOrder): Cut {
  const { fromMs, toMs } = interval;
  const lastMs = toMs - 1;
  // Pages are ordered by message time. If the service cuts by receipt time, rows may be missing anywhere.
  const isUnordered = byReceiptTime || isDisordered || oldestMs === undefined;
  if (isUnordered) return fromMs === lastMs ? { kind: 'dense', atMs: fromMs } : bisected(interval);
  return oldestMs === lastMs ? { kind: 'dense', atMs: lastMs } : { kind: 'at', atMs: oldestMs + 1 };
}

function bisected({ fromMs, toMs }: Interval): Cut {
  return { kind: 'bisect', atMs: fromMs + Math.floor((toMs - fromMs) / 2) };
}

/**
 * Returns the start of the part of a cut interval that its histogram proves complete (E6). The search was cut in the
 * oldest bucket, so this part starts where that bucket ends. Buckets are filled from the end of the range (2.3), so
 * newer buckets are complete. Undefined if the histogram does not add up, or contains no such part.
 */
export function wholeBuckets(
  histogram: MessageHistogram,
  { fromMs, toMs }: Interval,
): { readonly atMs: number; readonly rows: number } | undefined {
  const [oldest, ...newer] = histogram.buckets.filter(({ count }) => count > 0);
  if (!histogram.addsUp || !oldest) return undefined;
  const atMs = oldest.startMs + oldest.lengthMs;
  const arePieces = newer.every(({ startMs }) => startMs >= atMs && startMs < toMs);
  if (atMs <= fromMs || atMs >= toMs || !arePieces) return undefined;
  return { atMs, rows: newer.reduce((sum, { count }) => sum + count, 0) };
}
