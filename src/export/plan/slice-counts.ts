/** Counts the rows of an interval in short periods, with one aggregation. */
import { asLogfleetError } from '../../base/errors.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { figureOf } from '../../service/jobs/aggregation.ts';
import type { JobOrder, RecordPage } from '../../service/jobs/search-service.ts';
import { aggregate } from '../search/interval-count.ts';
import type { JobSet, OpenWishes } from '../search/job-set.ts';
import { sliceLength } from '../search/slice-length.ts';
import type { SliceCount } from './first-segments.ts';

export type SliceCounts =
  | {
      readonly kind: 'counted';
      /** Row counts for short periods, in chronological order. */
      readonly slices: readonly SliceCount[];
    }
  /** The service returned no valid count. `reason` is the user-facing reason. */
  | { readonly kind: 'none'; readonly reason: string };

export interface SliceTools {
  /** Returns the settings of a search job for an interval. */
  readonly order: (interval: TimeRange) => JobOrder;
  readonly jobs: JobSet;
  readonly wishes: OpenWishes;
}

/** Counts the rows of an interval. Errors from the service are part of the result. */
export async function countSlices(interval: TimeRange, tools: SliceTools): Promise<SliceCounts> {
  const { text } = sliceLength(interval);
  try {
    const operators = `timeslice ${text} | count by _timeslice`;
    const counted = await aggregate(tools.order(interval), operators, tools.jobs, tools.wishes);
    if (counted.kind === 'errors') return { kind: 'none', reason: counted.errors.slice(0, 3).join('; ') };
    const slices = slicesOf(counted.records, interval);
    return slices
      ? { kind: 'counted', slices }
      : { kind: 'none', reason: 'the records from the service contain no valid counts' };
  } catch (thrown) {
    tools.jobs.signal.throwIfAborted();
    const error = asLogfleetError(thrown);
    if (error.handling.kind === 'bug') throw error;
    return { kind: 'none', reason: error.message };
  }
}

/** Returns the counted periods in chronological order, or undefined if a record is invalid. */
export function slicesOf(
  records: RecordPage['records'],
  { fromMs, toMs }: TimeRange,
): readonly SliceCount[] | undefined {
  const rowsAt = new Map<number, number>();
  const seen = new Set<number>();
  for (const record of records) {
    const startMs = figureOf(record, '_timeslice');
    const rows = figureOf(record, '_count');
    if (startMs === undefined || rows === undefined || seen.has(startMs)) return undefined;
    seen.add(startMs);
    // Ignores rows at the end of the interval, because some services return rows at the exclusive end of a range (E10).
    if (rows === 0 || startMs >= toMs) continue;
    // A counted period may begin before the interval. In that case, its rows are assigned to the start of the interval.
    const atMs = Math.max(startMs, fromMs);
    rowsAt.set(atMs, (rowsAt.get(atMs) ?? 0) + rows);
  }
  const slices = [...rowsAt].map(([startMs, rows]) => ({ startMs, rows }));
  return slices.sort((left, right) => left.startMs - right.startMs);
}
