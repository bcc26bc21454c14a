/**
 * How many rows an interval has, counted by the service itself (`aggregation.ts`), so that it counts what a cut search does not return
 * (E6).
 */
import { LogfleetError } from '../base/errors.ts';
import type { JobOrder } from '../service/search-service.ts';
import { ServiceError } from '../service/service-error.ts';
import { type AggregationTools, aggregate, figureOf, notCounted } from './aggregation.ts';

export type IntervalCount =
  | { readonly kind: 'counted'; readonly rows: number }
  /** What the count's job has brought. */
  | { readonly kind: 'errors'; readonly errors: readonly string[] };

/** `order` is what is sent for the rows of the interval. Rejects as `aggregate` does, or with `export.countRefused`. */
export async function countInterval(order: JobOrder, tools: AggregationTools): Promise<IntervalCount> {
  const counted = await aggregate(order, 'count', tools).catch((thrown: unknown) => {
    throw isRefused(thrown) ? countRefused(thrown) : thrown;
  });
  if (counted.kind === 'errors') return counted;
  const { records, messageCount } = counted;
  // Some services have no record of nothing.
  if (records.length === 0 && messageCount === 0) return { kind: 'counted', rows: 0 };
  const [record] = records;
  const rows = record && records.length === 1 ? figureOf(record, '_count') : undefined;
  if (rows === undefined) throw notCounted();
  return { kind: 'counted', rows };
}

/** The service has taken the query without the count. */
export function isRefused(thrown: unknown): thrown is ServiceError {
  return thrown instanceof ServiceError && thrown.status === 400 && thrown.handling.kind === 'stall';
}

function countRefused(cause: ServiceError): LogfleetError {
  const { serviceCode = 'no code', handling } = cause;
  const what = `The service refuses the query with "| count" behind it (${serviceCode}), by which an interval is proven whose search was cut or lost an answer`;
  const advice = 'nothing is wrong with the query alone; export with one that can be counted';
  return new LogfleetError({
    ...{ code: 'export.countRefused', message: `${what}: ${advice}.`, handling, cause },
    reason: 'CountMissing',
  });
}
