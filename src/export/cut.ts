/**
 * Whether a search was cut at the message limit of the service, and where its interval goes on (E4). To take a whole one for a cut
 * one costs a job; the reverse loses rows. So anything counts that a cut search could look like.
 */

import type { JobProgress } from '../service/job-gathering.ts';
import type { Histogram } from '../service/job-histogram.ts';

/** What a search shows that was cut, the surest first. */
export type CutSign =
  /** The service says so. */
  | 'forcePaused'
  | 'warning'
  /** It was given up near the end of the time that a query has (E13). */
  | 'timeOver'
  /** It went beyond its interval: what is before that is for other searches. */
  | 'beyondInterval'
  /** It found as many as a limit once was. */
  | 'smallestLimit'
  /** It found as many as limits usually are. */
  | 'roundCount';

export type CutFacts = Pick<JobProgress, 'state' | 'messageCount' | 'isLimitReached'>;

/** Limits are such multiples, from so many on (10.2). */
const roundStep = 1_000;
const leastRound = 10_000;

/**
 * Of a search that is done, or that was given up while it ran; undefined where it must be whole. `smallestLimit` is what
 * `smallestLimitAfter` has of all searches before.
 */
export function cutSign(facts: CutFacts, smallestLimit: number | undefined): CutSign | undefined {
  const { state, messageCount, isLimitReached } = facts;
  if (state === 'forcePaused') return 'forcePaused';
  if (isLimitReached) return 'warning';
  if (state !== 'doneGatheringResults') return 'timeOver';
  if (smallestLimit !== undefined && messageCount >= smallestLimit) return 'smallestLimit';
  return isRoundCount(messageCount) ? 'roundCount' : undefined;
}

/** As limits are: a search that finds so many counts as cut, whatever the service says. */
export function isRoundCount(messageCount: number): boolean {
  return messageCount >= leastRound && messageCount % roundStep === 0;
}

/** The smallest limit of this service, with one more search that is over: only what the service calls one is learnt from. */
export function smallestLimitAfter(facts: CutFacts, smallestLimit: number | undefined): number | undefined {
  const { messageCount, isLimitReached, state } = facts;
  const isLimit = (isLimitReached || state === 'forcePaused') && messageCount > 0;
  return isLimit ? Math.min(messageCount, smallestLimit ?? messageCount) : smallestLimit;
}

export interface Interval {
  readonly fromMs: number;
  /** Not in it. */
  readonly toMs: number;
}

export interface RowOrder {
  readonly byReceiptTime: boolean;
  /** The oldest row received inside the interval, in the time that is searched by; undefined when there was none. */
  readonly oldestMs: number | undefined;
  /** Whether a row was newer than one before it: then the oldest one says nothing of what is missing. */
  readonly isDisordered: boolean;
}

/** How a cut interval goes on. */
export type Cut =
  /** `[atMs, toMs)` has all its rows; `[fromMs, atMs)` is searched again. */
  | { readonly kind: 'at'; readonly atMs: number }
  /** Nothing is known to be whole: `[atMs, toMs)` is searched next, then what is before. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /** The millisecond `[atMs, toMs)` alone reaches the limit. */
  | { readonly kind: 'dense'; readonly atMs: number };

export function cutOf(interval: Interval, { byReceiptTime, oldestMs, isDisordered }: RowOrder): Cut {
  const { fromMs, toMs } = interval;
  const lastMs = toMs - 1;
  // Pages come by message time: what a limit leaves out may have been received at any time.
  const isUnordered = byReceiptTime || isDisordered || oldestMs === undefined;
  if (isUnordered) return fromMs === lastMs ? { kind: 'dense', atMs: fromMs } : bisected(interval);
  return oldestMs === lastMs ? { kind: 'dense', atMs: lastMs } : { kind: 'at', atMs: oldestMs + 1 };
}

function bisected({ fromMs, toMs }: Interval): Cut {
  return { kind: 'bisect', atMs: fromMs + Math.floor((toMs - fromMs) / 2) };
}

/**
 * From where on a cut interval is proven by its histogram (E6): behind its oldest bucket, which the cut goes through. Buckets are found
 * from the end of the range (2.3), so that the others are whole. Undefined where the histogram does not add up, or has no such place.
 */
export function wholeBuckets(
  histogram: Histogram,
  { fromMs, toMs }: Interval,
): { readonly atMs: number; readonly rows: number } | undefined {
  const [oldest, ...newer] = histogram.buckets.filter(({ count }) => count > 0);
  if (!histogram.addsUp || !oldest) return undefined;
  const atMs = oldest.startMs + oldest.lengthMs;
  const arePieces = newer.every(({ startMs }) => startMs >= atMs && startMs < toMs);
  if (atMs <= fromMs || atMs >= toMs || !arePieces) return undefined;
  return { atMs, rows: newer.reduce((sum, { count }) => sum + count, 0) };
}
