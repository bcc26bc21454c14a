/**
 * Runs an aggregation and reads all its records. Aggregations have no message limit (8). A job with errors, or with possibly lost
 * errors (E5), gives no records.
 */
import { crossing } from '../../base/boundary.ts';
import type { SearchJob } from './search-job.ts';
import type { JobOrder, RecordPage } from './search-service.ts';

export type Aggregated =
  | {
      readonly kind: 'records';
      readonly records: RecordPage['records'];
      /** Number of messages that were aggregated. */
      readonly messageCount: number;
    }
  /** Errors that the aggregation's search job reported, so that its result is not reliable. */
  | { readonly kind: 'errors'; readonly errors: readonly string[] };

/** Opens and closes the search job of an aggregation. */
export interface AggregationJobs {
  readonly signal: AbortSignal;
  open(order: JobOrder): Promise<SearchJob>;
  /** Called when the service has finished the search. */
  finished?(job: SearchJob): void;
  /** Closes a search job. The promise never rejects. */
  close(job: SearchJob): Promise<void>;
}

/**
 * Runs an aggregation once. Returns undefined if its search job gave no reliable result, because it was cut or a status was lost.
 * Rejects with the signal's reason, or with the error of the service.
 */
export async function aggregateOnce(order: JobOrder, jobs: AggregationJobs): Promise<Aggregated | undefined> {
  const { signal } = jobs;
  const job = await jobs.open({ ...order, requiresRawMessages: false });
  try {
    const { state, isTainted, isLimitReached, messageCount } = await job.whenFinished(signal);
    jobs.finished?.(job);
    if (errorsOf(job).length > 0) return { kind: 'errors', errors: errorsOf(job) };
    if (isTainted || isLimitReached || state !== 'doneGatheringResults') return undefined;
    const pages: RecordPage[] = [];
    const take = (page: RecordPage) => void pages.push(page);
    await crossing('aggregation.readRecords', () => job.readRecords({ offset: 0, take, signal }));
    // Answers to keep-alive requests may also have reported errors (E5).
    if (errorsOf(job).length > 0) return { kind: 'errors', errors: errorsOf(job) };
    return { kind: 'records', records: pages.flatMap(({ records }) => records), messageCount };
  } finally {
    await jobs.close(job);
  }
}

function errorsOf({ progress }: SearchJob): readonly string[] {
  return progress.errors.texts;
}

/** Value of a record as a whole number; the case of the name is ignored. Undefined if it is not a whole number. */
export function figureOf(record: ReadonlyMap<string, string>, name: string): number | undefined {
  const value = textOf(record, name);
  const figure = value === '' ? Number.NaN : Number(value);
  return Number.isSafeInteger(figure) && figure >= 0 ? figure : undefined;
}

/** Value of a record; the case of the name is ignored. Empty if the record has no such field. */
export function textOf(record: ReadonlyMap<string, string>, name: string): string {
  const value = record.get(name);
  if (value !== undefined) return value;
  for (const [field, other] of record) if (field.toLowerCase() === name) return other;
  return '';
}
