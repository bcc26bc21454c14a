/**
 * Divides an export's time range into segments, based on row counts. Each segment has at most as many rows as one
 * search can return. If a segment turns out to have more rows, it is divided during the search (E4).
 */
import type { TimeRange } from '../../base/time-range.ts';
import { maxSegments } from '../../destination/plan-object.ts';
import { maxPageRows } from '../../service/jobs/search-service.ts';
import { isRoundCount } from '../search/message-limit.ts';

/** Start of a short period, and the number of rows in it (at least 1). Periods without rows are omitted. */
export interface SliceCount {
  readonly startMs: number;
  readonly rows: number;
}

export interface SegmentCount extends TimeRange {
  readonly rows: number;
}

export interface SegmentsInput {
  readonly range: TimeRange;
  /** Row counts for short periods, in chronological order. */
  readonly slices: readonly SliceCount[];
  /** Expected message limit: the number of rows at which the service cuts a search short. */
  readonly limit: number;
  /**
   * Number of newest rows that the first search has already found, or 0. If this number is positive, the newest segment
   * has at most this many rows.
   */
  readonly foundRows: number;
}

/** Number of requests that one search needs besides its pages: job creation, status and deletion. */
const requestsBesidesPages = 3;
/** Number of requests that one aggregation needs: job creation, status, one page, and job deletion. */
export const requestsOfCount = 4;

/** Returns the segments in chronological order. A range without rows becomes one segment. */
export function firstSegments(input: SegmentsInput): readonly SegmentCount[] {
  const { limit } = input;
  // If there are too many segments for a plan, tries larger segments.
  for (let times = 1; ; times *= 2) {
    const segments = segmentsOf(input, times * fullestRows(limit));
    if (segments.length <= maxSegments) return segments;
  }
}

/** Maximum number of equal segments if the rows have not been counted. */
const maxEvenSegments = 16;

/** Divides an interval into `wanted` segments of equal length. */
export function evenSegments({ fromMs, toMs, rows }: SegmentCount, wanted = maxEvenSegments): readonly SegmentCount[] {
  const count = Math.max(1, Math.min(maxEvenSegments, wanted, toMs - fromMs));
  const at = (index: number) => fromMs + Math.floor(((toMs - fromMs) * index) / count);
  return Array.from({ length: count }, (_, index) => ({
    fromMs: at(index),
    toMs: at(index + 1),
    rows: Math.ceil(rows / count),
  }));
}

/** Returns the row count, below `limit`, at which a search needs the fewest requests per row. */
export function fullestRows(limit: number): number {
  const max = Math.max(1, limit - 1);
  const inWholePages = Math.floor(max / maxPageRows) * maxPageRows;
  return inWholePages / requestsOf(inWholePages) >= max / requestsOf(max) ? inWholePages : max;
}

/** Returns the minimum number of requests for a search that finds `rows` rows. */
function requestsOf(rows: number): number {
  return requestsBesidesPages + Math.ceil(rows / maxPageRows);
}

/** Returns the minimum number of requests that are needed to search all segments in `segments`. */
export function requestsOfSegments(segments: readonly SegmentCount[], limit: number): number {
  return segments.reduce((sum, { rows }) => sum + requestsOfSegment(rows, limit), 0);
}

/**
 * Returns the minimum number of requests that are needed to search a segment. A segment with more rows than one search
 * can return needs several searches, and a count after each search that the service cuts short.
 */
function requestsOfSegment(rows: number, limit: number): number {
  const cuts = Math.floor(rows / limit);
  return cuts * (requestsOf(limit) + requestsOfCount) + requestsOf(rows - cuts * limit);
}

function segmentsOf({ range, slices, foundRows }: SegmentsInput, fullest: number): SegmentCount[] {
  const downwards: SegmentCount[] = [];
  let { toMs } = range;
  /** Periods that have been added to the current segment, newest first. */
  let inside: SliceCount[] = [];
  let rows = 0;
  const fill = (slice: SliceCount) => {
    inside.push(slice);
    rows += slice.rows;
  };
  const close = () => {
    // Avoids segments with a round row count, such as 20,000. A search of such a segment would look as if the service
    // had cut it short.
    const isFound = downwards.length === 0 && foundRows > 0;
    const left = !isFound && isRoundCount(rows) && inside.length > 1 ? inside.pop() : undefined;
    const fromMs = inside.at(-1)?.startMs ?? range.fromMs;
    downwards.push({ fromMs, toMs, rows: rows - (left?.rows ?? 0) });
    toMs = fromMs;
    inside = [];
    rows = 0;
    if (left) fill(left);
  };
  for (const slice of slices.toReversed()) {
    const max = downwards.length === 0 && foundRows > 0 ? foundRows : fullest;
    while (inside.length > 0 && rows + slice.rows > max) close();
    fill(slice);
  }
  while (inside.length > 0) close();
  const [first, ...newer] = downwards.reverse();
  return first ? [{ ...first, fromMs: range.fromMs }, ...newer] : [{ ...range, rows: 0 }];
}
