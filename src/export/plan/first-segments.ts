/**
 * Cuts the range of an export into its first segments, using counts by slice of time. A segment has as many rows as one search returns
 * below the message limit, or slightly fewer: whole pages, so that no page is read for few rows.
 *
 * Invariant: segments start and end at slice boundaries, are ordered by time, and cover the range without gaps, whatever the counts are. A
 * wrong count costs at most a search job: if a segment has more rows than the limit, it is divided when it is searched (E4).
 *
 * All functions are pure. `slice-counts.ts` counts the rows, and `export-planning.ts` decides whether counting is useful.
 */
import { maxSegments } from '../../destination/plan-object.ts';
import { maxPageRows } from '../../service/jobs/search-service.ts';
import { type Interval, isRoundCount } from '../search/message-limit.ts';

/** Start of a slice of time and its number of rows, which is above zero. The slice ends where the next one starts. */
export interface SliceCount {
  readonly startMs: number;
  readonly rows: number;
}

export interface SegmentCount extends Interval {
  readonly rows: number;
}

export interface SegmentsInput {
  readonly range: Interval;
  /** Slices of the export's range with their numbers of rows, in order of time. */
  readonly slices: readonly SliceCount[];
  /** Message limit: the number of rows at which the service ends a search, so that older rows are missing. */
  readonly limit: number;
  /**
   * Number of rows that a search has already found. They are the newest rows of the range and form the newest segment.
   */
  readonly foundRows: number;
}

/** Requests that a search needs besides its pages: creation of the job, one status, deletion of the job. */
const requestsBesidesPages = 3;
/** Requests that an aggregation for counting needs: creation of the job, status, one page of records, deletion of the job. */
export const requestsOfCount = 4;

/** Segments of the export's range in order of time. A range without rows becomes one segment. */
export function firstSegments(input: SegmentsInput): readonly SegmentCount[] {
  const { limit } = input;
  // A plan can hold a limited number of segments. If there are more, fewer and larger segments are planned, and each is divided when it is
  // searched.
  for (let times = 1; ; times *= 2) {
    const segments = segmentsOf(input, times * fullestRows(limit));
    if (segments.length <= maxSegments) return segments;
  }
}

/**
 * Maximum number of equal pieces into which an interval is divided. It is enough for parallel searches, and too many pieces are better than
 * too few.
 */
const mostEvenSegments = 16;

/**
 * Cuts an interval into equal pieces of time, in order: `wanted` pieces, or one for each millisecond if it has fewer. The rows are assumed
 * to be evenly distributed.
 */
export function evenSegments({ fromMs, toMs, rows }: SegmentCount, wanted = mostEvenSegments): readonly SegmentCount[] {
  const count = Math.max(1, Math.min(mostEvenSegments, wanted, toMs - fromMs));
  const at = (index: number) => fromMs + Math.floor(((toMs - fromMs) * index) / count);
  return Array.from({ length: count }, (_, index) => ({
    fromMs: at(index),
    toMs: at(index + 1),
    rows: Math.ceil(rows / count),
  }));
}

/**
 * Best number of rows for a search: below the limit, with the fewest requests per row. Usually whole pages, unless the limit is slightly
 * above a few pages.
 */
export function fullestRows(limit: number): number {
  const most = Math.max(1, limit - 1);
  const inWholePages = Math.floor(most / maxPageRows) * maxPageRows;
  return inWholePages / requestsOf(inWholePages) >= most / requestsOf(most) ? inWholePages : most;
}

/** Minimum number of requests of a search that finds this many rows, below the message limit. */
function requestsOf(rows: number): number {
  return requestsBesidesPages + Math.ceil(rows / maxPageRows);
}

/** Minimum number of requests to search these segments: the search jobs are assumed to be done at their first status request. */
export function requestsOfSegments(segments: readonly SegmentCount[], limit: number): number {
  return segments.reduce((sum, { rows }) => sum + requestsOfSegment(rows, limit), 0);
}

/** A segment with more rows than the message limit is divided repeatedly. Each of its parts except the last needs a count. */
function requestsOfSegment(rows: number, limit: number): number {
  const cuts = Math.floor(rows / limit);
  return cuts * (requestsOf(limit) + requestsOfCount) + requestsOf(rows - cuts * limit);
}

function segmentsOf({ range, slices, foundRows }: SegmentsInput, fullest: number): SegmentCount[] {
  const downwards: SegmentCount[] = [];
  let { toMs } = range;
  /** Slices of the segment that is being built, newest first. */
  let inside: SliceCount[] = [];
  let rows = 0;
  const fill = (slice: SliceCount) => {
    inside.push(slice);
    rows += slice.rows;
  };
  const close = () => {
    // The newest segment is read from a search that is already known to be cut at the message limit, so its number of rows may look like
    // such a limit.
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
    const most = downwards.length === 0 && foundRows > 0 ? foundRows : fullest;
    while (inside.length > 0 && rows + slice.rows > most) close();
    fill(slice);
  }
  while (inside.length > 0) close();
  const [first, ...newer] = downwards.reverse();
  return first ? [{ ...first, fromMs: range.fromMs }, ...newer] : [{ ...range, rows: 0 }];
}
