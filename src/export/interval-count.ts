/**
 * Number of rows of an interval, counted by an aggregation of the service (`aggregation.ts`). It includes rows that a cut search does not
 * return (E6).
 */
import { LogfleetError } from '../base/errors.ts';
import type { JobOrder } from '../service/jobs/search-service.ts';
import { ServiceError } from '../service/requests/service-error.ts';
import { type AggregationTools, aggregate, figureOf, notCounted } from './aggregation.ts';

export type IntervalCount =
  | { readonly kind: 'counted'; readonly rows: number }
  /** Errors that the count's job reported. */
  | { readonly kind: 'errors'; readonly errors: readonly string[] };

/** Counts an interval. `order` is the job order for its rows. Rejects like `aggregate`, or with `export.countRefused`. */
export async function countInterval(order: JobOrder, tools: AggregationTools): Promise<IntervalCount> {
  const counted = await aggregate(order, 'count', tools).catch((thrown: unknown) => {
    throw isRefused(thrown) ? countRefused(thrown) : thrown;
  });
  if (counted.kind === 'errors') return counted;
  const { records, messageCount } = counted;
  // Some services return no record for zero rows.
  if (records.length === 0 && messageCount === 0) return { kind: 'counted', rows: 0 };
  const [record] = records;
  const rows = record && records.length === 1 ? figureOf(record, '_count') : undefined;
  if (rows === undefined) throw notCounted();
  return { kind: 'counted', rows };
}

/** True if the service refused the query with the appended count. */
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
