/**
 * How many rows there are at which times: counted by the service itself, by slices of message time, in one search of a few requests.
 * Slices are so many that one page has them all, so that segments can be cut to a fraction of a page.
 *
 * Invariant: what comes back counts every row of the interval in one slice, or nothing comes back. A service whose query language
 * has no such aggregation, or a query that does not go with it, costs a search and no row.
 */
import { asLogfleetError } from '../base/errors.ts';
import { type JobOrder, maxPageRows, type RecordPage } from '../service/search-service.ts';
import { type AggregationTools, aggregate, figureOf } from './aggregation.ts';
import type { Interval } from './cut.ts';
import type { SliceCount } from './first-segments.ts';

export type SliceCounts =
  | {
      readonly kind: 'counted';
      /** In order of time. */
      readonly slices: readonly SliceCount[];
      /** Of the longest. */
      readonly lengthMs: number;
    }
  /** `reason` is for people. */
  | { readonly kind: 'none'; readonly reason: string };

type Counted = Extract<SliceCounts, { kind: 'counted' }>;

export interface SliceTools extends AggregationTools {
  /** What is sent for the rows of an interval. */
  readonly order: (interval: Interval) => JobOrder;
}

/** So many searches count at most, so that an uneven range costs a bounded number of requests. */
const mostCounts = 24;

/**
 * Slices that have as many rows as the limit are counted once more, in finer ones, down to the millisecond. Rejects with the signal's
 * reason alone, or with what is wrong with logfleet.
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
    const counted = await aggregate(tools.order(interval), `timeslice ${text} | count by _timeslice`, tools);
    if (counted.kind === 'errors') return { kind: 'none', reason: counted.errors.slice(0, 3).join('; ') };
    const slices = slicesOf(counted.records, interval);
    return slices ? { kind: 'counted', slices, lengthMs } : { kind: 'none', reason: 'its records are no counts' };
  } catch (thrown) {
    tools.signal.throwIfAborted();
    const error = asLogfleetError(thrown);
    if (error.handling.kind === 'bug') throw error;
    return { kind: 'none', reason: error.message };
  }
}

/** Lengths into which clocks are divided: wherever a service begins to count them, few slices are cut. */
const lengths = [
  { suffix: 'ms', unitMs: 1, counts: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
  { suffix: 's', unitMs: 1_000, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'm', unitMs: 60_000, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'h', unitMs: 3_600_000, counts: [1, 2, 3, 4, 6, 12] },
].flatMap(({ suffix, unitMs, counts }) =>
  counts.map((count) => ({ text: `${count}${suffix}`, lengthMs: count * unitMs })),
);
const dayMs = 86_400_000;

/** The shortest of which no more lie in the interval than a page has, those that its ends cut among them. */
export function sliceLength({ fromMs, toMs }: Interval): { readonly text: string; readonly lengthMs: number } {
  const leastMs = (toMs - fromMs) / (maxPageRows - 2);
  const days = Math.ceil(leastMs / dayMs);
  return lengths.find(({ lengthMs }) => lengthMs >= leastMs) ?? { text: `${days}d`, lengthMs: days * dayMs };
}

/**
 * Length of the slices by which an export is proven (E6): all its searches have the same. Undefined by receipt time, since messages of any
 * time may have been received in an interval.
 */
export function sliceMsOf({ byReceiptTime, fromMs, toMs }: Interval & { readonly byReceiptTime: boolean }) {
  return byReceiptTime ? undefined : sliceLength({ fromMs, toMs }).lengthMs;
}

/** In order of time; undefined where the records are something else. */
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
    // A service whose ends are inclusive counts those at the very end, too (E10).
    if (rows === 0 || startMs >= toMs) continue;
    // The first slice may begin before the interval. So do others, where that is one of receipt times.
    const atMs = Math.max(startMs, fromMs);
    rowsAt.set(atMs, (rowsAt.get(atMs) ?? 0) + rows);
  }
  const slices = [...rowsAt].map(([startMs, rows]) => ({ startMs, rows }));
  return slices.sort((left, right) => left.startMs - right.startMs);
}

/** Slices that follow each other, each with as many rows as the limit or more. */
export interface DenseRun extends Interval {
  readonly rows: number;
}

/** `toMs` is where the interval ends. */
export function denseRuns({ slices, lengthMs }: Counted, limit: number, toMs: number): readonly DenseRun[] {
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
