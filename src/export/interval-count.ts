/**
 * How many rows an interval has, counted by the service itself (`aggregation.ts`), so that it counts what a cut search does not return
 * (E6).
 */
import type { JobOrder } from '../service/search-service.ts';
import { type AggregationTools, aggregate, figureOf, notCounted } from './aggregation.ts';

export type IntervalCount =
  | { readonly kind: 'counted'; readonly rows: number }
  /** What the count's job has brought. */
  | { readonly kind: 'errors'; readonly errors: readonly string[] };

/** `order` is what is sent for the rows of the interval. Rejects as `aggregate` does. */
export async function countInterval(order: JobOrder, tools: AggregationTools): Promise<IntervalCount> {
  const counted = await aggregate(order, 'count', tools);
  if (counted.kind === 'errors') return counted;
  const { records, messageCount } = counted;
  // Some services have no record of nothing.
  if (records.length === 0 && messageCount === 0) return { kind: 'counted', rows: 0 };
  const [record] = records;
  const rows = record && records.length === 1 ? figureOf(record, '_count') : undefined;
  if (rows === undefined) throw notCounted();
  return { kind: 'counted', rows };
}
