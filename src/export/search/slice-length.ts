/** Lengths of the short periods (slices) into which a digest or a count divides a time range (E6). */
import { maxPageRows } from '../../service/jobs/search-service.ts';
import type { Interval } from './message-limit.ts';

/** Possible lengths. They divide an hour or a day evenly, so that few periods cross the start or end of an interval. */
const lengths = [
  { suffix: 'ms', unitMs: 1, counts: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
  { suffix: 's', unitMs: 1_000, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'm', unitMs: 60_000, counts: [1, 2, 5, 10, 15, 30] },
  { suffix: 'h', unitMs: 3_600_000, counts: [1, 2, 3, 4, 6, 12] },
].flatMap(({ suffix, unitMs, counts }) =>
  counts.map((count) => ({ text: `${count}${suffix}`, lengthMs: count * unitMs })),
);
const dayMs = 86_400_000;

/** Returns the shortest length for which the results of all periods fit into one page. */
export function sliceLength({ fromMs, toMs }: Interval): { readonly text: string; readonly lengthMs: number } {
  const leastMs = (toMs - fromMs) / (maxPageRows - 2);
  const days = Math.ceil(leastMs / dayMs);
  return lengths.find(({ lengthMs }) => lengthMs >= leastMs) ?? { text: `${days}d`, lengthMs: days * dayMs };
}

/**
 * Length in ms of the periods in the digest of an export (E6). Undefined for a search by receipt time, because the service forms periods by
 * message time.
 */
export function sliceMsOf({ byReceiptTime, fromMs, toMs }: Interval & { readonly byReceiptTime: boolean }) {
  return byReceiptTime ? undefined : sliceLength({ fromMs, toMs }).lengthMs;
}
