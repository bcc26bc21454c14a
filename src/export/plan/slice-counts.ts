/**
 * Counts rows by slices of message time with an aggregation of the service, in a few requests. All slices fit in one page and are fine
 * enough to cut segments to a fraction of a page.
 *
 * Invariant: the result counts every row of the interval in one slice, or there is no result. A service or query without support for the
 * aggregation costs a search, but no row.
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
      /** Length in ms of the longest slice of time. */
      readonly lengthMs: number;
    }
  /** The service provided no count of the rows. `reason` is a text for users. */
  | { readonly kind: 'none'; readonly reason: string };

type CountedSlices = Extract<SliceCounts, { kind: 'counted' }>;

export interface SliceTools {
  /** Returns the job order for the rows of an interval. */
  readonly order: (interval: Interval) => JobOrder;
  readonly jobs: JobSet;
  readonly wishes: OpenWishes;
}

/** Maximum number of aggregations that count one range. It bounds the requests for a range with uneven density. */
const mostCounts = 24;

/**
 * Counts by slices. Slices that reach the limit are counted again in finer slices, down to a millisecond. Rejects only with the signal's
 * reason, or with a bug of logfleet.
 */
export async function countFinely(interval: Interval, limit: number, tools: SliceTools): Promise<SliceCounts> {
  const counted = await countSlices(interval, tools);
  if (counted.kind === 'none') return counted;
  let { slices } = counted;
  const runs = [...denseRuns(counted, limit, interval.toMs)];
  for (let counts = 1; counts < mostCounts; counts++) {
    const run = runs.shift();
    if (!run) break;
    const finer = await countSlices(run, tools);
    if (finer.kind === 'none' || rowsOf(finer.slices) !== run.rows) continue;
    slices = withFiner(slices, run, finer.slices);
    runs.push(...denseRuns(finer, limit, run.toMs));
  }
  return { ...counted, slices };
}

async function countSlices(interval: Interval, tools: SliceTools): Promise<SliceCounts> {
  const { text, lengthMs } = sliceLength(interval);
  try {
    const operators = `timeslice ${text} | count by _timeslice`;
    const counted = await aggregate(tools.order(interval), operators, tools.jobs, tools.wishes);
    if (counted.kind === 'errors') return { kind: 'none', reason: counted.errors.slice(0, 3).join('; ') };
    const slices = slicesOf(counted.records, interval);
    return slices ? { kind: 'counted', slices, lengthMs } : { kind: 'none', reason: 'its records are no counts' };
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
    // A service with inclusive ends also counts rows at the exact end (E10).
    if (rows === 0 || startMs >= toMs) continue;
    // The first slice may start before the interval. For a search by receipt time, other slices may start before it as well.
    const atMs = Math.max(startMs, fromMs);
    rowsAt.set(atMs, (rowsAt.get(atMs) ?? 0) + rows);
  }
  const slices = [...rowsAt].map(([startMs, rows]) => ({ startMs, rows }));
  return slices.sort((left, right) => left.startMs - right.startMs);
}

/** Consecutive slices that each have as many rows as the message limit or more. */
export interface DenseRun extends Interval {
  readonly rows: number;
}

/** Consecutive dense slices. `toMs` is the end of the interval. */
export function denseRuns({ slices, lengthMs }: CountedSlices, limit: number, toMs: number): readonly DenseRun[] {
  const runs: DenseRun[] = [];
  if (lengthMs === 1) return runs;
  slices.forEach(({ startMs, rows }, index) => {
    if (rows < limit) return;
    const endMs = Math.min(startMs + lengthMs, slices[index + 1]?.startMs ?? toMs);
    const before = runs.at(-1);
    if (before?.toMs !== startMs) runs.push({ fromMs: startMs, toMs: endMs, rows });
    else runs[runs.length - 1] = { fromMs: before.fromMs, toMs: endMs, rows: before.rows + rows };
  });
  return runs;
}

function withFiner(slices: readonly SliceCount[], run: DenseRun, finer: readonly SliceCount[]): readonly SliceCount[] {
  const before = slices.filter(({ startMs }) => startMs < run.fromMs);
  const after = slices.filter(({ startMs }) => startMs >= run.toMs);
  return [...before, ...finer, ...after];
}

function rowsOf(slices: readonly SliceCount[]): number {
  return slices.reduce((sum, { rows }) => sum + rows, 0);
}
