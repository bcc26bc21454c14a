/** Reads all records of an aggregation. Returns no records if the search job has reported errors (E5). */
import { crossing } from '../../base/boundary.ts';
import { uncountedError } from './job-end.ts';
import type { SearchJob } from './search-job.ts';
import type { RecordPage } from './search-service.ts';

export type Aggregated =
  | {
      readonly kind: 'records';
      readonly records: RecordPage['records'];
      /** Number of messages that were aggregated. */
      readonly messageCount: number;
    }
  /** Errors that the search job reported. */
  | { readonly kind: 'errors'; readonly errors: readonly string[] };

/** The part of the search-job interface that an aggregation uses. */
export type AggregationJob = Pick<SearchJob, 'id' | 'progress' | 'whenFinished' | 'readRecordPage'>;

/**
 * Waits until an aggregation ends, then reads its records. If the search job reported errors, returns the errors
 * instead. Returns undefined if the records are unreliable for another reason.
 * @param onFinished called when the search has finished, before the records are read
 */
export async function readAggregation(
  job: AggregationJob,
  signal: AbortSignal,
  onFinished: () => void = () => {},
): Promise<Aggregated | undefined> {
  const { state, isLimitReached, messageCount } = await job.whenFinished(signal);
  onFinished();
  if (isLimitReached || state !== 'doneGatheringResults') return errorsIn(job);
  if (mayHaveErrors(job)) return errorsIn(job);
  const records = await crossing('aggregation.readRecords', () => readRecords(job, signal));
  // Checks for errors again, because the search job may have reported an error while its records were read (E5).
  if (mayHaveErrors(job)) return errorsIn(job);
  return { kind: 'records', records, messageCount };
}

async function readRecords(job: AggregationJob, signal: AbortSignal): Promise<RecordPage['records']> {
  const { recordCount } = job.progress;
  if (recordCount === undefined) throw uncountedError(job.id);
  const pages: RecordPage[] = [];
  const take = (page: RecordPage) => void pages.push(page);
  for (let offset = 0; offset < recordCount; ) offset = await job.readRecordPage({ offset, take, signal });
  return pages.flatMap(({ records }) => records);
}

/**
 * Reports whether the search job may have errors. A lost response to a status request may also have contained errors.
 */
function mayHaveErrors({ progress }: AggregationJob): boolean {
  return progress.hasLostStatus || progress.errors.length > 0;
}

function errorsIn({ progress }: AggregationJob): Aggregated | undefined {
  const { errors } = progress;
  return errors.length === 0 ? undefined : { kind: 'errors', errors };
}

/**
 * Returns a record's field as a whole number, or undefined if the value is not a whole number. Ignores case in the
 * field name.
 */
export function figureOf(record: ReadonlyMap<string, string>, name: string): number | undefined {
  const value = textOf(record, name);
  const figure = value === '' ? Number.NaN : Number(value);
  return Number.isSafeInteger(figure) && figure >= 0 ? figure : undefined;
}

/** Returns a record's field, or an empty string if it is missing. Ignores case in the field name. */
export function textOf(record: ReadonlyMap<string, string>, name: string): string {
  const value = record.get(name);
  if (value !== undefined) return value;
  for (const [field, other] of record) if (field.toLowerCase() === name) return other;
  return '';
}
