/** Lengths of the slices of time for which the service counts rows. */
import { maxPageRows } from '../../service/jobs/search-service.ts';
import type { Interval } from './message-limit.ts';

/** Slice lengths that divide hours and days, so that few slices cross the ends of an interval, at whatever time the service starts its slices. */
const lengths = [
  { suffix: 'ms', unitMs: 1, counts: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
  { suffix: 's', unitMs: 1_000, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'm', unitMs: 60_000, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'h', unitMs: 3_600_000, counts: [1, 2, 3, 4, 6, 12] },
].flatMap(({ suffix, unitMs, counts }) =>
  counts.map((count) => ({ text: `${count}${suffix}`, lengthMs: count * unitMs })),
);
const dayMs = 86_400_000;

/** Shortest slice length for which all slices of the interval fit in one page, including those cut by its ends. */
export function sliceLength({ fromMs, toMs }: Interval): { readonly text: string; readonly lengthMs: number } {
  const leastMs = (toMs - fromMs) / (maxPageRows - 2);
  const days = Math.ceil(leastMs / dayMs);
  return lengths.find(({ lengthMs }) => lengthMs >= leastMs) ?? { text: `${days}d`, lengthMs: days * dayMs };
}

/**
 * Slice length in ms for the proof of an export (E6), the same for all its searches. Undefined by receipt time, since messages of any time
 * may be received in an interval.
 */
export function sliceMsOf({ byReceiptTime, fromMs, toMs }: Interval & { readonly byReceiptTime: boolean }) {
  return byReceiptTime ? undefined : sliceLength({ fromMs, toMs }).lengthMs;
}
