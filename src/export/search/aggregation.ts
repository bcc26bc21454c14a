/** Aggregates the rows of an interval, and repeats an aggregation whose result is unreliable. */

import { sleep } from '../../base/clock.ts';
import { asLogfleetError, failure, type LogfleetError, mayPass } from '../../base/errors.ts';
import { type Aggregated, figureOf, readAggregation } from '../../service/jobs/aggregation.ts';
import type { JobOrder } from '../../service/jobs/search-service.ts';
import { ServiceError } from '../../service/requests/service-error.ts';
import { withOperators } from './export-definition.ts';
import type { JobSet, OpenWishes } from './job-set.ts';

/** Maximum number of attempts per aggregation. */
const maxTries = 3;
const retryDelayMs = 2_000;

/**
 * Runs the aggregation `operators` on the rows that `order` selects. Rejects with the signal's reason, the service's
 * error, or the error `export.notCounted`.
 */
export async function aggregate(
  order: JobOrder,
  operators: string,
  jobs: JobSet,
  wishes?: OpenWishes,
): Promise<Aggregated> {
  const { clock, signal } = jobs;
  const aggregating = { ...withOperators(order, operators), requiresRawMessages: false };
  for (let tries = 1; ; tries++) {
    try {
      const aggregated = await aggregateOnce(aggregating, jobs, wishes);
      if (aggregated) return aggregated;
    } catch (thrown) {
      signal.throwIfAborted();
      if (!mayPass(asLogfleetError(thrown)) || tries === maxTries) throw thrown;
    }
    if (tries === maxTries) throw notCounted();
    await sleep(clock, retryDelayMs * tries, signal);
  }
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

/** Counts the rows that `order` selects. Rejects like `aggregate`, or with the error `export.countRefused`. */
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
