/**
 * Decides whether the rows of a search prove that its interval is complete (E4 to E6, E9, E10), or what must be done to prove it. All
 * functions are pure. The caller carries out the verdict and then asks for the next one.
 *
 * Invariants of the committed rows:
 * - The number of received rows equals the number that the search job reports.
 * - If the service cut the search short, or if a status answer was lost, the number of written rows equals the count of a histogram or an
 *   aggregation.
 * - A row counts as stored twice by the service only if two readings of the pages returned it twice.
 */

import { assert } from '../../base/assert.ts';
import { isoText } from '../../base/time-text.ts';
import type { CommitRecord, CountSource } from '../../destination/commit-record.ts';
import { recordedSlices } from '../../destination/slice-figures.ts';
import { type Cut, type CutSign, cutOf, type Interval, type RowOrder } from './message-limit.ts';
import type { RowFigures } from './row-filter.ts';

/** What is known about a search that has ended, as input of `judge`. */
export interface SearchFacts {
  readonly interval: Interval;
  readonly results: 'Messages' | 'Records';
  readonly byReceiptTime: boolean;
  /** True if the query finds the same rows when it is run for shorter time ranges (E8). */
  readonly isSplittable: boolean;
  /** True if the end of the searched range was moved 1 ms earlier, because this service includes the end of a range (E10). */
  readonly isEndMoved: boolean;
  /** Sign that the service cut the search short at its message limit, so that older rows are missing; undefined without such a sign. */
  readonly sign: CutSign | undefined;
  /** Number of messages or records that the search job reports. */
  readonly jobCount: number;
  /** Errors that the search job reported, each of them once. The list has a maximum length. */
  readonly pendingErrors: readonly string[];
  readonly hasLostStatus: boolean;
  /** Result of the latest reading of the search job's rows; undefined until they have been read. */
  readonly figures: RowFigures | undefined;
  /**
   * True if only the newest rows of the search job were read: as many as a histogram or an aggregation counted for the newest part of the
   * interval. The service cut the search short, so older rows may be missing.
   */
  readonly isReadInPart: boolean;
  /** True if all rows of the search job were read more than once, in pages of different sizes. */
  readonly isReadAgain: boolean;
  readonly isReadTwice: boolean;
  /**
   * Time from which rows of a search that the service cut short are written to files, if a histogram or an aggregation shows this time
   * before the rows are read.
   */
  readonly writtenFromMs?: number;
  /** Number of rows of an interval according to a histogram or an aggregation. */
  readonly counted?: {
    readonly interval: Interval;
    readonly rows: number;
    readonly source: Exclude<CountSource, 'Job'>;
  };
  /** True if rows of an interval are written even if the interval cannot be proven complete. */
  readonly keepsIncomplete: boolean;
  /** Number of earlier searches of this interval that could not prove it complete. */
  readonly failedBefore: number;
}

/** Content of a commit record without the segment number and the files, which the search adds. */
export type RecordFigures = Omit<CommitRecord, 'segment' | 'files'>;

export type Shortcoming =
  | 'PendingErrors'
  | 'CountDiffers'
  /** The number, sizes or times of the written rows differ from those that the service computed (digest, E6). */
  | 'DigestDiffers'
  /** The search returned rows outside its time range. */
  | 'RowsOutside'
  | 'LimitReached'
  /** logfleet ended the search job shortly before the service's maximum duration of a query (E13). */
  | 'TimeOver'
  | 'MillisecondTooDense';

export type Verdict =
  /** Commit the rows. If `record` covers only the newer part of the interval, the older part is searched next. */
  | { readonly kind: 'commit'; readonly record: RecordFigures }
  /** Count the rows of this interval by an aggregation, because the message limit does not apply to aggregations. */
  | { readonly kind: 'count'; readonly interval: Interval }
  /**
   * Read all rows of the search job, even if they were read before.
   * - `anyOrder`: compare each row with all earlier rows to find duplicates (E9).
   * - `mayLeave`: leave the oldest rows to the next search, because the service cut this search short (E4).
   */
  | { readonly kind: 'read'; readonly anyOrder: boolean; readonly mayLeave: boolean }
  /** Search the same interval with a new search job. `isFailure` is true if the finished search counts as failed. */
  | { readonly kind: 'searchAgain'; readonly isFailure: boolean; readonly message: string }
  /** Search the same interval with an end 1 ms earlier, because the service includes the end of a range. */
  | { readonly kind: 'endsInclusive' }
  /** Search the newer half of the interval first, from `atMs`, then the older half. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /**
   * One millisecond has more rows than the service returns for a search. This millisecond must be searched by the last digits of message
   * ids.
   */
  | { readonly kind: 'dense'; readonly record: RecordFigures; readonly message: string }
  /**
   * The interval cannot be proven complete, and another search would have the same result. With `incompletePolicy: Keep`, `record` is
   * committed; it is undefined if the rows are unusable (E5).
   */
  | {
      readonly kind: 'incomplete';
      readonly reason: Shortcoming;
      readonly record: RecordFigures | undefined;
      readonly message: string;
    };

const statusLost = 'an answer with the status of the search job was lost, and may have contained an error';

/** Maximum number of times that an interval is searched again after an error or a wrong number of rows. */
export const searchesAgain = 1;

/** True if the search returned a row exactly at the end of its range, so that the service includes the end (E10). */
export function showsInclusiveEnd({ figures, results, isEndMoved }: SearchFacts): boolean {
  return results === 'Messages' && !isEndMoved && figures !== undefined && figures.atEnd > 0;
}

/** Decides what happens after a search has ended. The first decision comes before rows are read, because some verdicts need no rows. */
export function judge(run: SearchFacts): Verdict {
  const { pendingErrors, sign, isSplittable, figures } = run;
  if (pendingErrors.length > 0) {
    return again(
      run,
      'PendingErrors',
      undefined,
      `the search reported errors: ${pendingErrors.slice(0, 3).join('; ')}`,
    );
  }
  const cut = sign !== undefined && isSplittable ? cutOfRun(run) : undefined;
  if (!figures) return judgeUnread(run, cut);
  const { received, written, outside, duplicates, left } = figures;
  assert(received === written + outside + duplicates + left, 'rows of a search are not accounted for');
  // The search returned rows exactly at the end of its range. They do not belong to the interval, but count toward the message limit, so a
  // search that ends 1 ms earlier returns more rows of the interval.
  if (cut && cut.kind !== 'at' && showsInclusiveEnd(run)) return { kind: 'endsInclusive' };
  const isWrong = strays(run, figures) > 0 || lacksRows(run, figures);
  // The pages may have been wrong. A second reading, with different page sizes, may return the right rows.
  if (isWrong && run.results === 'Messages' && !run.isReadAgain) return readingOf(run, figures.isDisordered);
  if (strays(run, figures) > 0) return judgeStrays(run, figures);
  if (cut?.kind === 'bisect') return cut;
  if (run.results === 'Messages' && !figures.areDuplicatesSure) return readingOf(run, true);
  // The service may have cut the search short within the oldest millisecond that was written. The rows are therefore read again without
  // this millisecond, which the next search reads.
  if (cut?.kind === 'at' && writtenFrom(run, cut) < cut.atMs) return readingOf(run, false);
  const fromMs = cut ? writtenFrom(run, cut) : run.interval.fromMs;
  if (lacksRows(run, figures)) {
    const problem = `the search job counts ${run.jobCount} rows, but its result pages have ${received - figures.overlapping}`;
    return again(run, 'CountDiffers', recordOf(run, figures, fromMs), problem);
  }
  if (cut?.kind === 'dense') return judgeDense(run, figures, fromMs);
  if (cut) return byCount(run, figures, fromMs);
  return sign === undefined ? judgeWhole(run, figures) : judgeUnsplittable(run, figures);
}

/**
 * Number of rows that the service wrongly returned from outside the requested range. Rows exactly at the end only show that the service
 * includes the end of a range (E10), so they count only if an end 1 ms earlier was requested.
 */
export function strays({ isEndMoved }: Pick<SearchFacts, 'isEndMoved'>, { outside, atEnd }: RowFigures): number {
  return isEndMoved ? outside : outside - atEnd;
}

/** Verdict on a search with rows outside its range. Rows inside the range may be missing instead, so the search proves nothing (E6). */
function judgeStrays(run: SearchFacts, figures: RowFigures): Verdict {
  const { strayMs = run.interval.toMs } = figures;
  const count = strays(run, figures);
  const time = run.byReceiptTime ? 'receipt times' : 'message times';
  const problem = `${count} of ${figures.received} rows have ${time} outside the interval, such as ${timeText(strayMs)}`;
  return again(run, 'RowsOutside', recordOf(run, figures, run.interval.fromMs), problem);
}

function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.valueOf()) ? `${ms} ms` : date.toISOString();
}

function cutOfRun(run: SearchFacts): Cut {
  const cut = cutOf(run.interval, orderOf(run));
  return run.isReadInPart && !run.figures?.isDisordered ? { kind: 'at', atMs: run.writtenFromMs ?? cut.atMs } : cut;
}

/**
 * True if the number of rows in the pages differs from the number that the search job reports. A search job that was ended early may have
 * found more rows since its last report.
 */
function lacksRows({ isReadInPart, sign, jobCount }: SearchFacts, { received, overlapping }: RowFigures): boolean {
  if (overlapping > 0) return true;
  if (isReadInPart) return false;
  return sign === 'timeOver' ? received < jobCount : received !== jobCount;
}

function orderOf({ byReceiptTime, figures }: SearchFacts): RowOrder {
  return { byReceiptTime, oldestMs: figures?.oldestMs, isDisordered: figures?.isDisordered ?? false };
}

function readingOf({ sign, isSplittable, byReceiptTime }: SearchFacts, anyOrder: boolean): Verdict {
  return { kind: 'read', anyOrder, mayLeave: sign !== undefined && isSplittable && !byReceiptTime };
}

function writtenFrom({ writtenFromMs }: SearchFacts, { kind, atMs }: Cut): number {
  return kind === 'dense' ? atMs : (writtenFromMs ?? atMs);
}

function judgeWhole(run: SearchFacts, figures: RowFigures): Verdict {
  const { interval, hasLostStatus, isSplittable, results, isReadTwice } = run;
  assert(figures.left === 0, 'a whole interval leaves no rows');
  if (!hasLostStatus && figures.duplicates > 0 && !isReadTwice) return readingOf(run, figures.isDisordered);
  if (!hasLostStatus) return { kind: 'commit', record: recordOf(run, figures, interval.fromMs) };
  if (isSplittable && results === 'Messages') return byCount(run, figures, interval.fromMs);
  return searchAgain(false, statusLost);
}

function judgeUnread(run: SearchFacts, cut: Cut | undefined): Verdict {
  if (run.byReceiptTime && cut?.kind === 'bisect') return cut;
  // An aggregation that was ended early has wrong results, which are never written.
  const isKept = run.keepsIncomplete && !(run.sign === 'timeOver' && run.results === 'Records');
  const isLost = run.sign !== undefined && !run.isSplittable && !isKept;
  return isLost ? judgeUnsplittable(run, undefined) : readingOf(run, false);
}

/**
 * Verdict on a search that the service cut short, for a query that cannot be run for shorter time ranges (E8). The missing rows cannot be
 * exported.
 */
function judgeUnsplittable(run: SearchFacts, figures: RowFigures | undefined): Verdict {
  const reason = run.sign === 'timeOver' ? 'TimeOver' : 'LimitReached';
  const message = `${stopOf(run)}, and this query cannot be searched in shorter intervals`;
  const record = figures && flagged(recordOf(run, figures, run.interval.fromMs), reason);
  return { kind: 'incomplete', reason, record, message };
}

/** Tells users why a search may lack rows. */
function stopOf({ sign, jobCount }: SearchFacts): string {
  switch (sign) {
    case 'timeOver':
      return 'the search had not ended after eight hours, the maximum duration of the service';
    case 'roundCount':
      return `the search found ${jobCount} rows, a number that may be a limit of the service (if the query itself limits its rows to ${jobCount}, write another number there)`;
    case 'smallestLimit':
      return `the search may be incomplete, because it found ${jobCount} rows, and the service has cut an earlier search short at that number or fewer`;
    default:
      return `the search stopped at ${jobCount} rows`;
  }
}

function judgeDense(run: SearchFacts, figures: RowFigures, atMs: number): Verdict {
  const { toMs } = run.interval;
  const counted = countOf(run, atMs);
  if (!counted) return countingOf(run, figures, { fromMs: atMs, toMs });
  const record = recordOf(run, figures, atMs, counted);
  if (isAsCounted(run, figures, counted.rows)) return { kind: 'commit', record };
  if (run.hasLostStatus) return searchAgain(false, statusLost);
  // The service can return all rows of this millisecond in one search. This search lacks some of them, so it was wrong.
  if (counted.rows <= run.jobCount) return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
  const moment = isoText(atMs);
  const message = `the millisecond ${moment} has ${counted.rows} rows, but a search returns only ${figures.written} of them`;
  return { kind: 'dense', record: flagged(record, 'MillisecondTooDense'), message };
}

/** Commits the rows from `fromMs` if their number equals the count of a histogram or an aggregation. */
function byCount(run: SearchFacts, figures: RowFigures, fromMs: number): Verdict {
  const { toMs } = run.interval;
  const counted = countOf(run, fromMs);
  const differs = counted === undefined || !isAsCounted(run, figures, counted.rows) || !isEndShown(run, figures);
  // The rows read may include duplicates and rows outside the range, so other rows may still be unread. All rows are therefore read now.
  if (counted && differs && run.isReadInPart) return readingOf(run, false);
  // A histogram may count duplicates and rows outside the range, so an aggregation must count the rows.
  if (!counted || (differs && counted.source === 'Histogram')) return countingOf(run, figures, { fromMs, toMs });
  const record = recordOf(run, figures, fromMs, counted);
  if (!differs) return { kind: 'commit', record };
  return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
}

/**
 * True if the rows read reach past the counted part of the interval: all rows of the search job were read, or at least one row older than
 * the counted part. Otherwise the count may be too small (E6).
 */
function isEndShown({ isReadInPart, jobCount }: SearchFacts, { left, received }: RowFigures): boolean {
  return !isReadInPart || left > 0 || received >= jobCount;
}

/**
 * Requests an aggregation that counts the interval's rows. If there are duplicates, the rows are first read again, because the search job
 * is closed during the count.
 */
function countingOf(run: SearchFacts, figures: RowFigures, interval: Interval): Verdict {
  const hasTwins = figures.duplicatesOfWritten > 0 && !run.hasLostStatus;
  return hasTwins && !run.isReadTwice ? readingOf(run, figures.isDisordered) : { kind: 'count', interval };
}

/**
 * True if the number of written rows equals the count of a histogram or an aggregation. This count may include duplicates that the service
 * stores.
 */
function isAsCounted(run: SearchFacts, figures: RowFigures, counted: number): boolean {
  const { written, duplicatesOfWritten } = figures;
  // After a lost status answer, a duplicate may hide a missing row. The count must then equal the written rows without duplicates.
  const isSure = run.isReadTwice && !run.hasLostStatus;
  return counted === written || (isSure && counted === written + duplicatesOfWritten);
}

function differenceOf(counted: number, { written }: RowFigures): string {
  return `the service counts ${counted} rows, but the search found ${written}`;
}

/**
 * Returns the histogram's or aggregation's number of rows from `fromMs` to the end of the interval. If a status answer was lost, the
 * histogram may be wrong and is not used (E5).
 */
function countOf({ counted, interval, hasLostStatus }: SearchFacts, fromMs: number): SearchFacts['counted'] {
  if (counted?.interval.fromMs !== fromMs || counted.interval.toMs !== interval.toMs) return undefined;
  return hasLostStatus && counted.source === 'Histogram' ? undefined : counted;
}

function again(run: SearchFacts, reason: Shortcoming, record: RecordFigures | undefined, problem: string): Verdict {
  if (run.failedBefore < searchesAgain) return searchAgain(true, problem);
  return { kind: 'incomplete', reason, record: record && flagged(record, reason), message: problem };
}

function searchAgain(isFailure: boolean, message: string): Verdict {
  return { kind: 'searchAgain', isFailure, message };
}

function flagged(record: RecordFigures, reason: Shortcoming): RecordFigures {
  return { ...record, incomplete: { reason } };
}

function recordOf(
  run: SearchFacts,
  figures: RowFigures,
  fromMs: number,
  counted?: SearchFacts['counted'],
): RecordFigures {
  const { received, written, outside, duplicates, left } = figures;
  const count = counted
    ? { rows: counted.rows, source: counted.source }
    : { rows: run.jobCount, source: 'Job' as const };
  const record = { fromMs, toMs: run.interval.toMs, received, written, outside, duplicates, left, count };
  return { ...record, ...provableOf(run, figures, record) };
}

/**
 * Number, sizes and times of the rows. The commit record stores them, and the service's aggregation (digest) confirms them later (E6). An
 * empty object for an export of records.
 */
function provableOf(
  run: SearchFacts,
  figures: RowFigures,
  interval: Interval,
): Pick<CommitRecord, 'figures' | 'slices' | 'sliceSums' | 'repeated' | 'endInclusive'> {
  if (run.results === 'Records') return {};
  const { messages, slices, repeated, atEnd } = figures;
  return {
    figures: messages,
    ...(slices && recordedSlices(slices, interval, run.byReceiptTime)),
    ...(repeated && figures.duplicates > 0 ? { repeated } : {}),
    ...(run.isEndMoved || atEnd > 0 ? { endInclusive: true } : {}),
  };
}
