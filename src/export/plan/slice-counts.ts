/**
 * Counts rows by slices of message time with one aggregation of the service. All slices fit in one page and are fine
 * enough to cut segments to a fraction of a page.
 *
 * Invariant: the result counts every row of the interval in one slice, or there is no result. If the service or the
 * query does not support the aggregation, the attempt costs one search, and no row is lost.
 */
import { asLogfleetError } from '../../base/errors.ts';
import { figureOf } from '../../service/jobs/aggregation.ts';
import type { JobOrder, RecordPage } from '../../service/jobs/search-service.ts';
import { aggregate } from '../search/aggregation.ts';
import type { JobSet, OpenWishes } from '../search/job-set.ts';
import type { Interval } from '../search/message-limit.ts';
import { sliceLength } from '../search/slice-length.ts';
import type { SliceCount } from './first-segments.ts';

export type SliceCounts =
  | {
      readonly kind: 'counted';
      /** Slices of time with their numbers of rows, in order of time. */
      readonly slices: readonly SliceCount[];
    }
  /** The service provided no count of the rows. `reason` is a text for users. */
  | { readonly kind: 'none'; readonly reason: string };

export interface SliceTools {
  /** Returns the order (query, range and options) of a search job for the rows of an interval. */
  readonly order: (interval: Interval) => JobOrder;
  readonly jobs: JobSet;
  readonly wishes: OpenWishes;
}

/** Counts the rows of an interval. Rejects only with the signal's reason, or with a bug of logfleet. */
export async function countSlices(interval: Interval, tools: SliceTools): Promise<SliceCounts> {
  const { text } = sliceLength(interval);
  try {
    const operators = `timeslice ${text} | count by _timeslice`;
    const counted = await aggregate(tools.order(interval), operators, tools.jobs, tools.wishes);
    if (counted.kind === 'errors') return { kind: 'none', reason: counted.errors.slice(0, 3).join('; ') };
    const slices = slicesOf(counted.records, interval);
    return slices ? { kind: 'counted', slices } : { kind: 'none', reason: 'its records contain no valid counts' };
  } catch (thrown) {
    tools.jobs.signal.throwIfAborted();
    const error = asLogfleetError(thrown);
    if (error.handling.kind === 'bug') throw error;
    return { kind: 'none', reason: error.message };
  }
}

/** Slices in order of time, or undefined if the records are invalid. */
export function slicesOf(
  records: RecordPage['records'],
  { fromMs, toMs }: Interval,
): readonly SliceCount[] | undefined {
  const rowsAt = new Map<number, number>();
  const seen = new Set<number>();
  for (const record of records) {
    const startMs = figureOf(record, '_timeslice');
    const rows = figureOf(record, '_count');
    if (startMs === undefined || rows === undefined || seen.has(startMs)) return undefined;
    seen.add(startMs);
    // A service that includes the ends of ranges also counts rows at the exact end (E10).
    if (rows === 0 || startMs >= toMs) continue;
    // The first slice may start before the interval. For a search by receipt time, other slices may start before it as well.
    const atMs = Math.max(startMs, fromMs);
    rowsAt.set(atMs, (rowsAt.get(atMs) ?? 0) + rows);
  }
  const slices = [...rowsAt].map(([startMs, rows]) => ({ startMs, rows }));
  return slices.sort((left, right) => left.startMs - right.startMs);
}
