/**
 * Decides whether the service cut a search short at its message limit (E4). In case of doubt, a search counts as cut
 * short. This costs at most another search, whereas rows would be lost if a cut were missed.
 */
import type { TimeRange } from '../../base/time-range.ts';
import type { ExportIdentity } from '../../destination/fingerprint.ts';
import type { JobProgress, MessageHistogram } from '../../service/jobs/job-gathering.ts';

/** Signs that the service cut a search short, most certain first. */
export type CutSign =
  /** The service reports that it cut the search short. */
  | 'forcePaused'
  | 'warning'
  /** logfleet ended the search before the service's maximum duration (E13). */
  | 'timeOver'
  /**
   * The search job's range begins before the interval. The rows before the interval are ignored, because other searches
   * find them.
   */
  | 'beyondInterval'
  /** The number of rows is at least the smallest number at which the service has ever cut a search short. */
  | 'smallestLimit'
  /**
   * The number of rows is a multiple of 1,000. It may be the message limit, because most message limits are multiples
   * of 1,000.
   */
  | 'roundCount';

export type CutFacts = Pick<JobProgress, 'state' | 'messageCount' | 'isLimitReached'>;

/**
 * The service's message limit is usually a round number (section 10.2 of docs/service.md). A row count counts as round
 * if it is a multiple of `roundStep`, and at least `minRound`.
 */
const roundStep = 1_000;
const minRound = 10_000;

/**
 * Returns the sign that the service cut a search short, or undefined if the search is complete. `smallestLimit` is the
 * smallest row count of any search that was cut short. An aggregation (`Records`) has no message limit (section 8 of
 * docs/service.md), so it is incomplete only if its search job ended early.
 */
export function cutSign(
  facts: CutFacts,
  smallestLimit: number | undefined,
  results: ExportIdentity['results'],
): CutSign | undefined {
  const { state, messageCount, isLimitReached } = facts;
  if (state === 'forcePaused') return 'forcePaused';
  if (isLimitReached && results === 'Messages') return 'warning';
  if (state !== 'doneGatheringResults') return 'timeOver';
  if (results === 'Records') return undefined;
  if (smallestLimit !== undefined && messageCount >= smallestLimit) return 'smallestLimit';
  return isRoundCount(messageCount) ? 'roundCount' : undefined;
}

/** Returns the number of rows that a search has found: messages, or records of an aggregation. */
export function rowsFound(
  { messageCount, recordCount = 0 }: Pick<JobProgress, 'messageCount' | 'recordCount'>,
  results: ExportIdentity['results'],
): number {
  return results === 'Messages' ? messageCount : recordCount;
}

/** Returns true if the number of rows looks like a message limit. */
export function isRoundCount(messageCount: number): boolean {
  return messageCount >= minRound && messageCount % roundStep === 0;
}

/** Returns the smallest row count at which the service has cut a search short. */
export function smallestLimitAfter(facts: CutFacts, smallestLimit: number | undefined): number | undefined {
  const { messageCount, isLimitReached, state } = facts;
  const isLimit = (isLimitReached || state === 'forcePaused') && messageCount > 0;
  return isLimit ? Math.min(messageCount, smallestLimit ?? messageCount) : smallestLimit;
}

export interface RowOrder {
  readonly byReceiptTime: boolean;
  /** Oldest time among the rows in the interval. */
  readonly oldestMs: number | undefined;
  /**
   * True if the rows were not in chronological order. In that case, rows may be missing between the returned rows, not
   * only before the oldest row.
   */
  readonly isDisordered: boolean;
}

/** Next step for an interval after the service has cut its search short. */
export type Cut =
  /** All rows at or after `atMs` have been found. The part of the interval before `atMs` is searched next. */
  | { readonly kind: 'at'; readonly atMs: number }
  /** Rows may be missing anywhere in the interval. The newer half, from `atMs`, is searched first. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /** The millisecond `atMs` alone has more rows than one search can return. */
  | { readonly kind: 'dense'; readonly atMs: number };

export function cutOf({ fromMs, toMs }: TimeRange, { byReceiptTime, oldestMs, isDisordered }: RowOrder): Cut {
  const lastMs = toMs - 1;
  // A search by receipt time that was cut short may lack rows anywhere in its range, because result pages are ordered
  // by message time.
  const isUnordered = byReceiptTime || isDisordered || oldestMs === undefined;
  if (isUnordered && fromMs === lastMs) return { kind: 'dense', atMs: fromMs };
  if (isUnordered) return { kind: 'bisect', atMs: fromMs + Math.floor((toMs - fromMs) / 2) };
  return oldestMs === lastMs ? { kind: 'dense', atMs: lastMs } : { kind: 'at', atMs: oldestMs + 1 };
}

/**
 * Finds the newest part of a time range in which a search found all rows, even though the service cut the search short
 * (E6). Returns the start and the row count of this part, or undefined if there is no such part.
 */
export function wholeBuckets(
  histogram: MessageHistogram,
  { fromMs, toMs }: TimeRange,
): { readonly atMs: number; readonly rows: number } | undefined {
  const [oldest, ...newer] = histogram.buckets.filter(({ count }) => count > 0);
  if (!histogram.addsUp || !oldest) return undefined;
  const atMs = oldest.startMs + oldest.lengthMs;
  const arePieces = newer.every(({ startMs }) => startMs >= atMs && startMs < toMs);
  if (atMs <= fromMs || atMs >= toMs || !arePieces) return undefined;
  return { atMs, rows: newer.reduce((sum, { count }) => sum + count, 0) };
}
