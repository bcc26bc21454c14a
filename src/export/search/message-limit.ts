/**
 * Decides whether the service cut a search short at its message limit (E4). A wrong guess costs one more search, but a
 * missed cut loses rows.
 */

import type { JobProgress, MessageHistogram } from '../../service/jobs/job-gathering.ts';

/** Signs of a search that was cut short, the most certain first. */
export type CutSign =
  /** The service reports that it cut the search short. */
  | 'forcePaused'
  | 'warning'
  /** logfleet ended the search before the service's maximum duration (E13). */
  | 'timeOver'
  /** The search job's range begins before the interval. Rows before the interval are left to other searches. */
  | 'beyondInterval'
  /** The search found at least as many rows as the smallest search that the service has cut short. */
  | 'smallestLimit'
  /** The number of rows is a multiple of 1,000, as most message limits are, so it may be the message limit. */
  | 'roundCount';

export type CutFacts = Pick<JobProgress, 'state' | 'messageCount' | 'isLimitReached'>;

/**
 * The service's message limit is assumed to be a multiple of `roundStep` and at least `leastRound` (section 10.2 of the
 * service's specification).
 */
const roundStep = 1_000;
const leastRound = 10_000;

/**
 * Returns the sign that the service cut a search short, or undefined if the search is complete. `smallestLimit` is the
 * smallest row count of a search that was cut short.
 */
export function cutSign(facts: CutFacts, smallestLimit: number | undefined): CutSign | undefined {
  const { state, messageCount, isLimitReached } = facts;
  if (state === 'forcePaused') return 'forcePaused';
  if (isLimitReached) return 'warning';
  if (state !== 'doneGatheringResults') return 'timeOver';
  if (smallestLimit !== undefined && messageCount >= smallestLimit) return 'smallestLimit';
  return isRoundCount(messageCount) ? 'roundCount' : undefined;
}

/** True if the number of rows looks like a message limit. */
export function isRoundCount(messageCount: number): boolean {
  return messageCount >= leastRound && messageCount % roundStep === 0;
}

/** Returns the smallest row count at which the service has cut a search short. */
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
  /** Oldest time of the rows in the interval. */
  readonly oldestMs: number | undefined;
  /** True if the rows were not in order of time. The oldest row then does not show where rows are missing. */
  readonly isDisordered: boolean;
}

/** How the search of an interval continues after the service has cut a search short. */
export type Cut =
  /** The rows starting at `atMs` are complete. The time before `atMs` is searched next. */
  | { readonly kind: 'at'; readonly atMs: number }
  /** Rows may be missing anywhere. The newer half, from `atMs`, is searched first. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /** The millisecond `atMs` alone has more rows than one search returns. */
  | { readonly kind: 'dense'; readonly atMs: number };

export function cutOf(interval: Interval, { byReceiptTime, oldestMs, isDisordered }: RowOrder): Cut {
  const { fromMs, toMs } = interval;
  const lastMs = toMs - 1;
  // Result pages are in order of message time. If a search by receipt time is cut short, rows may therefore be missing
  // anywhere in its range.
  const isUnordered = byReceiptTime || isDisordered || oldestMs === undefined;
  if (isUnordered) return fromMs === lastMs ? { kind: 'dense', atMs: fromMs } : bisected(interval);
  return oldestMs === lastMs ? { kind: 'dense', atMs: lastMs } : { kind: 'at', atMs: oldestMs + 1 };
}

function bisected({ fromMs, toMs }: Interval): Cut {
  return { kind: 'bisect', atMs: fromMs + Math.floor((toMs - fromMs) / 2) };
}

/**
 * Returns the start of the newest part of the time range that a search has found completely, although the service cut
 * the search short (E6).
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
