/** Lengths of the short periods (slices) for which the service counts rows (E6). */
import { maxPageRows } from '../../service/jobs/search-service.ts';
import type { Interval } from './message-limit.ts';

/**
 * Possible lengths of the periods for which rows are counted. They divide an hour or a day evenly, so that few periods cross the start or
 * end of an interval.
 */
const lengths = [
  { suffix: 'ms', unitMs: 1, counts: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
  { suffix: 's', unitMs: 1_000, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'm', unitMs: 60_000, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'h', unitMs: 3_600_000, counts: [1, 2, 3, 4, 6, 12] },
].flatMap(({ suffix, unitMs, counts }) =>
  counts.map((count) => ({ text: `${count}${suffix}`, lengthMs: count * unitMs })),
);
const dayMs = 86_400_000;

/**
 * Minimum length in ms of a slice of message time in an export by receipt time. The range of such an export does not limit its number of
 * slices, because messages can be received long after their message time. A year has 52,560 slices of ten minutes.
 */
const leastByReceiptMs = 600_000;

export interface SliceLength {
  /** Length as the query operator `timeslice` writes it, such as `30s`. */
  readonly text: string;
  readonly lengthMs: number;
}

/** Returns the shortest length of a slice for which the counts of all slices in the interval fit into one page of results. */
export function sliceLength({ fromMs, toMs }: Interval, minimumMs = 0): SliceLength {
  const leastMs = Math.max((toMs - fromMs) / (maxPageRows - 2), minimumMs);
  const days = Math.ceil(leastMs / dayMs);
  return lengths.find(({ lengthMs }) => lengthMs >= leastMs) ?? { text: `${days}d`, lengthMs: days * dayMs };
}

/** Length of the slices of message time that the digest of an export has. `range` is the time range of the whole export. */
export function digestSliceLength(range: Interval & { readonly byReceiptTime: boolean }): SliceLength {
  return sliceLength(range, range.byReceiptTime ? leastByReceiptMs : 0);
}
