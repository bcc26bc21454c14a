/**
 * Where the range of an export is cut at first, from counts by slice of time: into segments that one search each can return, as full as
 * the message limit allows and just below a whole number of pages, so that no page is fetched for a few rows.
 *
 * Invariant: segments begin and end where slices do, in order of time, and cover the range without gaps, whatever the counts say. A
 * wrong count costs a job at most: what exceeds the limit all the same is cut where it is searched (E4).
 *
 * Pure. Leaves to others: counting (`slice-counts.ts`), and whether it pays (`export-planning.ts`).
 */
import { maxSegments } from '../destination/plan-object.ts';
import { maxPageRows } from '../service/search-service.ts';
import { type Interval, isRoundCount } from './cut.ts';

/** Rows from there on until the next slice begins, more than none. */
export interface SliceCount {
  readonly startMs: number;
  readonly rows: number;
}

export interface SegmentCount extends Interval {
  readonly rows: number;
}

export interface SegmentsInput {
  readonly range: Interval;
  /** In order of time, inside the range. */
  readonly slices: readonly SliceCount[];
  /** A search that finds so many is cut. */
  readonly limit: number;
  /** So many of the newest rows of the range are found already: the newest segment is made of these. */
  readonly foundRows: number;
}

/** What a search costs besides its pages: its creation, one status, and its deletion. */
const requestsBesidesPages = 3;
/** What counting an interval costs: a creation, a status, a page of records, and a deletion. */
export const requestsOfCount = 4;

/** In order of time. One for the whole range where there are no rows. */
export function firstSegments(input: SegmentsInput): readonly SegmentCount[] {
  const { limit } = input;
  // More segments than a plan holds are made fewer: they are cut when they are searched.
  for (let times = 1; ; times *= 2) {
    const segments = segmentsOf(input, times * fullestRows(limit));
    if (segments.length <= maxSegments) return segments;
  }
}

/** So many pieces are made of what is not known: enough to be searched side by side. */
const mostEvenSegments = 16;

/** Pieces of equal length of an interval whose rows are a guess, in order of time: those that have more than the limit are cut. */
export function evenSegments(interval: SegmentCount, limit: number): readonly SegmentCount[] {
  return evenPieces(interval, Math.ceil(interval.rows / limit));
}

/** The same where not even a guess is there: `rows` is how many there are at least. A search too many is better than one after the other. */
export function blindSegments(interval: SegmentCount): readonly SegmentCount[] {
  return evenPieces(interval, mostEvenSegments);
}

function evenPieces({ fromMs, toMs, rows }: SegmentCount, wanted: number): readonly SegmentCount[] {
  const count = Math.max(1, Math.min(mostEvenSegments, wanted, toMs - fromMs));
  const at = (index: number) => fromMs + Math.floor(((toMs - fromMs) * index) / count);
  return Array.from({ length: count }, (_, index) => ({
    fromMs: at(index),
    toMs: at(index + 1),
    rows: Math.ceil(rows / count),
  }));
}

/**
 * How many rows a search should find at most: below the limit, and as many as cost the fewest requests each. Whole pages do, unless the
 * limit is only a little above a few of them.
 */
export function fullestRows(limit: number): number {
  const most = Math.max(1, limit - 1);
  const inWholePages = Math.floor(most / maxPageRows) * maxPageRows;
  return inWholePages / requestsOf(inWholePages) >= most / requestsOf(most) ? inWholePages : most;
}

/** What a search of so many rows, fewer than the limit, costs at least. */
function requestsOf(rows: number): number {
  return requestsBesidesPages + Math.ceil(rows / maxPageRows);
}

/** What searching these takes at least, when each search has its first status when it is done. */
export function requestsOfSegments(segments: readonly SegmentCount[], limit: number): number {
  return segments.reduce((sum, { rows }) => sum + requestsOfSegment(rows, limit), 0);
}

/** One beyond the limit is cut again and again, and each piece but the last is counted. */
function requestsOfSegment(rows: number, limit: number): number {
  const cuts = Math.floor(rows / limit);
  return cuts * (requestsOf(limit) + requestsOfCount) + requestsOf(rows - cuts * limit);
}

function segmentsOf({ range, slices, foundRows }: SegmentsInput, fullest: number): SegmentCount[] {
  const downwards: SegmentCount[] = [];
  let { toMs } = range;
  /** Those of the segment that is being filled, the newest first, and their rows. */
  let inside: SliceCount[] = [];
  let rows = 0;
  const fill = (slice: SliceCount) => {
    inside.push(slice);
    rows += slice.rows;
  };
  const close = () => {
    // The rows that are found already are those of a search that was cut: what it looks like does not matter.
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
