/**
 * What the service itself computes of an interval's rows: an aggregation has no message limit (8). One of whose errors are known, or may
 * have been lost (E5), gives nothing.
 */

import { crossing } from '../base/boundary.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { asLogfleetError, LogfleetError, mayPass } from '../base/errors.ts';
import type { SearchJob } from '../service/search-job.ts';
import type { JobOrder, RecordPage } from '../service/search-service.ts';
import { withOperators } from './export-task.ts';
import type { JobSet } from './job-set.ts';

/** So many jobs may be lost, or lose a status, until it is given up. */
const maxTries = 3;
const retryDelayMs = 2_000;

export interface AggregationTools {
  readonly jobs: JobSet;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** So long a job is waited for; for ever where absent. */
  readonly turnMs?: number;
  /** How long it should take; as long as the one before where absent. */
  readonly expectedMs?: number;
}

export type Aggregated =
  | {
      readonly kind: 'records';
      readonly records: RecordPage['records'];
      /** Of the messages that were aggregated. */
      readonly messageCount: number;
    }
  /** What the job has brought. */
  | { readonly kind: 'errors'; readonly errors: readonly string[] };

/**
 * `order` is what is sent for the rows of the interval, `operators` what makes records of them. Rejects with the signal's reason, with
 * what keeps the service from it, or, when no job in several proves anything, with `export.notCounted`.
 */
export async function aggregate(order: JobOrder, operators: string, tools: AggregationTools): Promise<Aggregated> {
  const { clock, signal } = tools;
  const aggregating: JobOrder = { ...withOperators(order, operators), requiresRawMessages: false };
  for (let tries = 1; ; tries++) {
    try {
      const aggregated = await aggregateOnce(aggregating, tools);
      if (aggregated) return aggregated;
    } catch (thrown) {
      signal.throwIfAborted();
      if (!mayPass(asLogfleetError(thrown)) || tries === maxTries) throw thrown;
    }
    if (tries === maxTries) throw notCounted();
    await sleep(clock, retryDelayMs * tries, signal);
  }
}

/** Undefined where the job proves nothing. */
async function aggregateOnce(
  order: JobOrder,
  { jobs, signal, turnMs, expectedMs }: AggregationTools,
): Promise<Aggregated | undefined> {
  const job = await jobs.open(order, 'Count', { turnMs, expectedMs });
  try {
    const { state, isTainted, isLimitReached, messageCount } = await job.whenFinished(signal);
    jobs.counted(job);
    if (errorsOf(job).length > 0) return { kind: 'errors', errors: errorsOf(job) };
    if (isTainted || isLimitReached || state !== 'doneGatheringResults') return undefined;
    const pages: RecordPage[] = [];
    const take = (page: RecordPage) => void pages.push(page);
    await crossing('export.readPage', () => job.readRecords({ offset: 0, take, signal }));
    // Statuses that only kept it alive may have brought some, too (E5).
    if (errorsOf(job).length > 0) return { kind: 'errors', errors: errorsOf(job) };
    return { kind: 'records', records: pages.flatMap(({ records }) => records), messageCount };
  } finally {
    await jobs.close(job);
  }
}

function errorsOf({ progress }: SearchJob): readonly string[] {
  return progress.errors.texts;
}

/** A figure of a record, whatever the case of its name; undefined where it is no whole number. */
export function figureOf(record: ReadonlyMap<string, string>, name: string): number | undefined {
  const value = textOf(record, name);
  const figure = value === '' ? Number.NaN : Number(value);
  return Number.isSafeInteger(figure) && figure >= 0 ? figure : undefined;
}

/** A value of a record, whatever the case of its name; empty where it has none. */
export function textOf(record: ReadonlyMap<string, string>, name: string): string {
  for (const [field, value] of record) if (field.toLowerCase() === name) return value;
  return '';
}

export function notCounted(): LogfleetError {
  return new LogfleetError({
    code: 'export.notCounted',
    message: 'The service gave no count of an interval that can be relied on: answers were lost, or were no count.',
    handling: { kind: 'backoff' },
    reason: 'CountMissing',
  });
}
