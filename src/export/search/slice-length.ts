/** Lengths of the short periods for which the service counts rows (E6). */
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

/** Returns the shortest length of a period for which the counts of all periods in the interval fit into one page of results. */
export function sliceLength({ fromMs, toMs }: Interval): { readonly text: string; readonly lengthMs: number } {
  const leastMs = (toMs - fromMs) / (maxPageRows - 2);
  const days = Math.ceil(leastMs / dayMs);
  return lengths.find(({ lengthMs }) => lengthMs >= leastMs) ?? { text: `${days}d`, lengthMs: days * dayMs };
}

/**
 * Length in ms of the periods for which an export counts rows (E6). Undefined for a search by receipt time, because the service divides
 * only message time into periods.
 */
export function sliceMsOf({ byReceiptTime, fromMs, toMs }: Interval & { readonly byReceiptTime: boolean }) {
  return byReceiptTime ? undefined : sliceLength({ fromMs, toMs }).lengthMs;
}
