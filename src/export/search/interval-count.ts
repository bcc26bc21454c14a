/** Aggregates the rows of an interval, and repeats an aggregation whose result is unreliable. */

import { failure, type LogfleetError } from '../../base/errors.ts';
import { type Aggregated, figureOf, readAggregation } from '../../service/jobs/aggregation.ts';
import type { JobOrder } from '../../service/jobs/search-service.ts';
import { ServiceError } from '../../service/requests/service-error.ts';
import { withOperators } from './export-definition.ts';
import { withRetries } from './job-retries.ts';
import type { JobSet, OpenWishes } from './job-set.ts';

/**
 * Runs the aggregation `operators` on the rows that `order` selects. Rejects with the signal's reason, with the
 * service's error, or with `export.notCounted` if there is no reliable result.
 */
export async function aggregate(
  order: JobOrder,
  operators: string,
  jobs: JobSet,
  wishes?: OpenWishes,
): Promise<Aggregated> {
  const aggregating = { ...withOperators(order, operators), requiresRawMessages: false };
  const attempt = () => aggregateOnce(aggregating, jobs, wishes);
  const aggregated = await withRetries(attempt, (result) => result === undefined, jobs);
  if (!aggregated) throw notCounted();
  return aggregated;
}

async function aggregateOnce(
  order: JobOrder,
  jobs: JobSet,
  wishes: OpenWishes | undefined,
): Promise<Aggregated | undefined> {
  const job = await jobs.open(order, 'Count', wishes);
  try {
    return await readAggregation(job, jobs.signal, () => jobs.counted(job));
  } finally {
    await jobs.close(job);
  }
}

export function notCounted(): LogfleetError {
  const message =
    'The service returned no reliable row count for an interval, because responses were lost or contained no count.';
  return failure('backoff', 'export.notCounted', message, { reason: 'CountMissing' });
}

export type IntervalCount =
  | { readonly kind: 'counted'; readonly rows: number }
  /** The search job reported errors, so its count is not reliable. */
  | { readonly kind: 'errors'; readonly errors: readonly string[] };

/**
 * Counts the rows of the search that `order` describes. Rejects with the same errors as `aggregate`, and with
 * `export.countRefused` if the service accepts the query but refuses to count its rows.
 */
export async function countInterval(order: JobOrder, jobs: JobSet): Promise<IntervalCount> {
  const counted = await aggregate(order, 'count', jobs).catch((thrown: unknown) => {
    throw isRefused(thrown) ? countRefused(thrown) : thrown;
  });
  if (counted.kind === 'errors') return counted;
  const { records, messageCount } = counted;
  // Some services return no record when they count zero rows.
  if (records.length === 0 && messageCount === 0) return { kind: 'counted', rows: 0 };
  const [record] = records;
  const rows = record && records.length === 1 ? figureOf(record, '_count') : undefined;
  if (rows === undefined) throw notCounted();
  return { kind: 'counted', rows };
}

export function isRefused(thrown: unknown): thrown is ServiceError {
  return thrown instanceof ServiceError && thrown.status === 400 && thrown.handling.kind === 'stall';
}

function countRefused(cause: ServiceError): LogfleetError {
  const { serviceCode = 'no code' } = cause;
  const what = `The service accepts the query, but refuses it when "| count" is appended (${serviceCode}). logfleet needs this count if a response is lost, or if the service cuts a search short`;
  const message = `${what}: use a query whose rows can be counted.`;
  return failure('stall', 'export.countRefused', message, { reason: 'CountMissing', cause });
}
