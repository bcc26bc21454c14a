/**
 * Decides whether the service cut a search short: it returned only the newest messages, up to its message limit (E4). Any possible sign
 * counts: rows are lost if a cut is overlooked, but a wrong assumption only costs one more search.
 */

import type { JobProgress, MessageHistogram } from '../../service/jobs/job-gathering.ts';

/** Signs that the service cut a search short at its message limit, the most certain sign first. */
export type CutSign =
  /** The service reports that it cut the search short. */
  | 'forcePaused'
  | 'warning'
  /** logfleet ended the search shortly before the service's maximum duration of a query (E13). */
  | 'timeOver'
  /** The search job covers more time than the interval. The older rows of the job are left to other searches. */
  | 'beyondInterval'
  /** The search found at least as many rows as an earlier search that the service cut short, so it was probably cut short, too. */
  | 'smallestLimit'
  /** The number of rows is a multiple of 1,000, which is typical of message limits. */
  | 'roundCount';

export type CutFacts = Pick<JobProgress, 'state' | 'messageCount' | 'isLimitReached'>;

/** The service's message limit is assumed to be a multiple of `roundStep`, and at least `leastRound` (section 10.2 of docs/service.md). */
const roundStep = 1_000;
const leastRound = 10_000;

/**
 * Returns the sign that the service cut a search short, or undefined if the search is complete. `smallestLimit` is the smallest number of
 * rows at which the service has cut any earlier search short.
 */
export function cutSign(facts: CutFacts, smallestLimit: number | undefined): CutSign | undefined {
  const { state, messageCount, isLimitReached } = facts;
  if (state === 'forcePaused') return 'forcePaused';
  if (isLimitReached) return 'warning';
  if (state !== 'doneGatheringResults') return 'timeOver';
  if (smallestLimit !== undefined && messageCount >= smallestLimit) return 'smallestLimit';
  return isRoundCount(messageCount) ? 'roundCount' : undefined;
}

/** True for a number of rows that looks like a message limit. A search that found this number counts as cut short. */
export function isRoundCount(messageCount: number): boolean {
  return messageCount >= leastRound && messageCount % roundStep === 0;
}

/** Returns the smallest number of rows at which the service has cut a search short, with this search taken into account. */
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
  /** Oldest time of the rows inside the interval: message time, or receipt time if the search is by receipt time. */
  readonly oldestMs: number | undefined;
  /** True if a row was newer than the row before it. The oldest row then does not show where rows are missing. */
  readonly isDisordered: boolean;
}

/** How an interval continues after the service cut its search short. */
export type Cut =
  /** Rows from `atMs` to the interval's end are complete. The time before `atMs` is searched next. */
  | { readonly kind: 'at'; readonly atMs: number }
  /** Rows may be missing anywhere in the interval. Its newer half, from `atMs`, is searched first, then its older half. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /** The millisecond `atMs` alone has as many rows as the service returns for one search, so no shorter interval helps. */
  | { readonly kind: 'dense'; readonly atMs: number };

export function cutOf(interval: Interval, { byReceiptTime, oldestMs, isDisordered }: RowOrder): Cut {
  const { fromMs, toMs } = interval;
  const lastMs = toMs - 1;
  // If the service cut short a search by receipt time, rows may be missing anywhere, because pages are ordered by message time.
  const isUnordered = byReceiptTime || isDisordered || oldestMs === undefined;
  if (isUnordered) return fromMs === lastMs ? { kind: 'dense', atMs: fromMs } : bisected(interval);
  return oldestMs === lastMs ? { kind: 'dense', atMs: lastMs } : { kind: 'at', atMs: oldestMs + 1 };
}

function bisected({ fromMs, toMs }: Interval): Cut {
  return { kind: 'bisect', atMs: fromMs + Math.floor((toMs - fromMs) / 2) };
}

/**
 * Returns the start of the newest part of an interval that is complete although the service cut its search short (E6). The search finds
 * newer rows first, so all histogram buckets with rows are complete, except the oldest one. Undefined if no bucket is complete, or if the
 * sum of the buckets differs from the number of rows.
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
