/** Chooses the length of the short periods in which rows are counted (E6). */
import type { TimeRange } from '../../base/time-range.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../../base/time-units.ts';
import { maxPageRows } from '../../service/jobs/search-service.ts';

/** Possible lengths of a period. Each length divides a day without a remainder. */
const lengths = [
  { suffix: 'ms', unitMs: 1, counts: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
  { suffix: 's', unitMs: secondMs, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'm', unitMs: minuteMs, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'h', unitMs: hourMs, counts: [1, 2, 3, 4, 6, 12] },
].flatMap(({ suffix, unitMs, counts }) =>
  counts.map((count) => ({ text: `${count}${suffix}`, lengthMs: count * unitMs })),
);

/** Minimum length in ms of the periods for exports that search by receipt time. */
const minByReceiptMs = 600_000;

export interface SliceLength {
  /** Length in the syntax of the `timeslice` query operator, such as `30s`. */
  readonly text: string;
  readonly lengthMs: number;
}

/** Returns the shortest period length for which all counts fit into one result page. */
export function sliceLength({ fromMs, toMs }: TimeRange, minimumMs = 0): SliceLength {
  const minMs = Math.max((toMs - fromMs) / (maxPageRows - 2), minimumMs);
  const days = Math.ceil(minMs / dayMs);
  return lengths.find(({ lengthMs }) => lengthMs >= minMs) ?? { text: `${days}d`, lengthMs: days * dayMs };
}

/** Returns the length of the periods in which the rows of an export are compared with the service's counts. */
export function digestSliceLength(range: TimeRange & { readonly byReceiptTime: boolean }): SliceLength {
  return sliceLength(range, range.byReceiptTime ? minByReceiptMs : 0);
}
