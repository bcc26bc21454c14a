/**
 * Reads all records of an aggregation. Returns no records if the search job has errors, or may have lost
 * errors (E5). Aggregations have no message limit (8).
 */
import { crossing } from '../../base/boundary.ts';
import type { SearchJob } from './search-job.ts';
import type { RecordPage } from './search-service.ts';

export type Aggregated =
  | {
      readonly kind: 'records';
      readonly records: RecordPage['records'];
      /** Number of messages that were aggregated. */
      readonly messageCount: number;
    }
  /** Errors that the search job reported, so that the aggregation has no reliable result. */
  | { readonly kind: 'errors'; readonly errors: readonly string[] };

/** Part of a search job that an aggregation uses. */
export type AggregationJob = Pick<SearchJob, 'progress' | 'whenFinished' | 'readRecords'>;

/**
 * Waits for the end of an aggregation and reads its records. If the search job reported errors, returns the errors.
 * Returns undefined if no error was reported but the result is unreliable: the search stopped at the message limit,
 * did not end normally, or the answer to a status request was lost. `onFinished` is called when the service has
 * finished the search.
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
  const pages: RecordPage[] = [];
  const take = (page: RecordPage) => void pages.push(page);
  await crossing('aggregation.readRecords', () => job.readRecords({ offset: 0, take, signal }));
  // Status requests keep the job alive while its records are read. Their answers may contain errors of the search (E5).
  if (mayHaveErrors(job)) return errorsIn(job);
  return { kind: 'records', records: pages.flatMap(({ records }) => records), messageCount };
}

/** True if the search job has reported errors, or may have reported errors in a lost answer to a status request. */
function mayHaveErrors({ progress }: AggregationJob): boolean {
  return progress.hasLostStatus || progress.errors.length > 0;
}

function errorsIn({ progress }: AggregationJob): Aggregated | undefined {
  const { errors } = progress;
  return errors.length === 0 ? undefined : { kind: 'errors', errors };
}

/**
 * Returns the value of a record's field as a whole number, or undefined if the value is not a whole number. The case
 * of the field's name does not matter.
 */
export function figureOf(record: ReadonlyMap<string, string>, name: string): number | undefined {
  const value = textOf(record, name);
  const figure = value === '' ? Number.NaN : Number(value);
  return Number.isSafeInteger(figure) && figure >= 0 ? figure : undefined;
}

/**
 * Returns the value of a record's field, or an empty text if the record has no such field. The case of the field's
 * name does not matter.
 */
export function textOf(record: ReadonlyMap<string, string>, name: string): string {
  const value = record.get(name);
  if (value !== undefined) return value;
  for (const [field, other] of record) if (field.toLowerCase() === name) return other;
  return '';
}
