/**
 * Divides the time range of an export into segments, from the numbers of rows in short periods. A segment has at most as many rows as one
 * search returns, preferably a multiple of the page size, because a page costs a request even for few rows.
 *
 * Invariant: the segments cover the range without gaps, even if the numbers of rows are wrong. A segment with too many rows is divided when
 * it is searched (E4).
 */
import { maxSegments } from '../../destination/plan-object.ts';
import { maxPageRows } from '../../service/jobs/search-service.ts';
import { type Interval, isRoundCount } from '../search/message-limit.ts';

/** Short period with its start and its number of rows (at least 1). The period ends at the start of the next period in the list. */
export interface SliceCount {
  readonly startMs: number;
  readonly rows: number;
}

export interface SegmentCount extends Interval {
  readonly rows: number;
}

export interface SegmentsInput {
  readonly range: Interval;
  /** Short periods of the export's range with their numbers of rows, in order of time. */
  readonly slices: readonly SliceCount[];
  /** Number of rows at which the service cuts a search short, so that older rows are missing. */
  readonly limit: number;
  /** Number of rows that a search has already found. These rows are the newest rows of the range, and form the newest segment. */
  readonly foundRows: number;
}

/** Requests that a search needs besides its pages: creation of the job, one status, deletion of the job. */
const requestsBesidesPages = 3;
/** Requests of an aggregation that counts rows: creation of the job, status, one page of records, deletion of the job. */
export const requestsOfCount = 4;

/** Segments of the export's range in order of time. A range without rows becomes one segment. */
export function firstSegments(input: SegmentsInput): readonly SegmentCount[] {
  const { limit } = input;
  // The size of a plan is limited. A plan with too many segments gets fewer and larger ones, which are divided when they are searched.
  for (let times = 1; ; times *= 2) {
    const segments = segmentsOf(input, times * fullestRows(limit));
    if (segments.length <= maxSegments) return segments;
  }
}

/**
 * Maximum number of equal parts into which an interval is divided if its rows were not counted. More parts would not make parallel searches
 * faster.
 */
const mostEvenSegments = 16;

/** Divides an interval into `wanted` parts of equal length, in order of time. Assumes that its rows are evenly distributed. */
export function evenSegments({ fromMs, toMs, rows }: SegmentCount, wanted = mostEvenSegments): readonly SegmentCount[] {
  const count = Math.max(1, Math.min(mostEvenSegments, wanted, toMs - fromMs));
  const at = (index: number) => fromMs + Math.floor(((toMs - fromMs) * index) / count);
  return Array.from({ length: count }, (_, index) => ({
    fromMs: at(index),
    toMs: at(index + 1),
    rows: Math.ceil(rows / count),
  }));
}

/** Best number of rows for a search: below the message limit, with the fewest requests per row. Usually these rows fill whole pages. */
export function fullestRows(limit: number): number {
  const most = Math.max(1, limit - 1);
  const inWholePages = Math.floor(most / maxPageRows) * maxPageRows;
  return inWholePages / requestsOf(inWholePages) >= most / requestsOf(most) ? inWholePages : most;
}

/** Minimum number of requests of a search that finds this many rows and is not cut short. */
function requestsOf(rows: number): number {
  return requestsBesidesPages + Math.ceil(rows / maxPageRows);
}

/** Minimum number of requests to search these segments. Each search is assumed to have ended at its first status request. */
export function requestsOfSegments(segments: readonly SegmentCount[], limit: number): number {
  return segments.reduce((sum, { rows }) => sum + requestsOfSegment(rows, limit), 0);
}

/**
 * A segment with more rows than the message limit needs several searches. After each search that the service cut short, an aggregation counts
 * the rows. Only the last search is complete.
 */
function requestsOfSegment(rows: number, limit: number): number {
  const cuts = Math.floor(rows / limit);
  return cuts * (requestsOf(limit) + requestsOfCount) + requestsOf(rows - cuts * limit);
}

function segmentsOf({ range, slices, foundRows }: SegmentsInput, fullest: number): SegmentCount[] {
  const downwards: SegmentCount[] = [];
  let { toMs } = range;
  /** Short periods in the segment that is being built, newest first. */
  let inside: SliceCount[] = [];
  let rows = 0;
  const fill = (slice: SliceCount) => {
    inside.push(slice);
    rows += slice.rows;
  };
  const close = () => {
    // If a search finds a round number of rows, such as 20,000, logfleet assumes that the service cut it short (`isRoundCount`). A planned
    // segment with such a number of rows therefore leaves its oldest rows to the next segment, unless its rows have already been found.
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
