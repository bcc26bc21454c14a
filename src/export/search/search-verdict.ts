/**
 * Decides whether a search found all rows of its interval (E4 to E6, E9, E10), and what to do next if it did not. The
 * functions are pure. Rows are committed only if as many rows were received as the search job reports. After a lost
 * response, or if the service cut the search short, a separate count must also confirm the number of written rows.
 */

import { assert } from '../../base/assert.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { isoText } from '../../base/time-text.ts';
import type { CommitRecord, CountSource } from '../../destination/commit-record.ts';
import { recordedSlices } from '../../destination/slice-figures.ts';
import { type Cut, type CutSign, cutOf } from './message-limit.ts';
import type { RowFigures } from './row-filter.ts';

/** Data about a search that has ended. */
export interface SearchFacts {
  readonly interval: TimeRange;
  readonly results: 'Messages' | 'Records';
  readonly byReceiptTime: boolean;
  /** True if several searches of shorter time ranges find the same rows as a single search of the whole range (E8). */
  readonly isSplittable: boolean;
  /**
   * True if the searched range ends 1 ms before the end of the interval, because the service also returns rows at the
   * end of a range (E10).
   */
  readonly isEndMoved: boolean;
  /** Sign that the service cut the search short; undefined if there is none. */
  readonly sign: CutSign | undefined;
  /** Number of messages or records that the search job reports. */
  readonly jobCount: number;
  /** Distinct errors of the search job. */
  readonly pendingErrors: readonly string[];
  readonly hasLostStatus: boolean;
  /** Result of the latest read; undefined before the first read. */
  readonly figures: RowFigures | undefined;
  /**
   * True if only the newest rows of the job were read. The service's count of these rows is known, and another search
   * covers the older rows.
   */
  readonly isReadInPart: boolean;
  /** True if the rows of the job were read at least twice, with different page sizes. */
  readonly isReadAgain: boolean;
  readonly isReadTwice: boolean;
  /** Rows before this time are not written, because the service cut the search short. */
  readonly writtenFromMs?: number;
  /** Number of rows according to a histogram or an aggregation. */
  readonly counted?: {
    readonly interval: TimeRange;
    readonly rows: number;
    readonly source: Exclude<CountSource, 'Job'>;
  };
  /** True if rows of incomplete intervals are committed too (`incompletePolicy: Keep`). */
  readonly keepsIncomplete: boolean;
  /** Number of earlier searches that did not prove the interval complete. */
  readonly failedBefore: number;
}

/** Content of a commit record, without its segment number and files. */
export type RecordFigures = Omit<CommitRecord, 'segment' | 'files'>;

export type Shortcoming =
  | 'PendingErrors'
  | 'CountDiffers'
  /** The service's counts, sizes or times differ from those of the written rows (E6). */
  | 'DigestDiffers'
  /** The search returned rows outside its time range. */
  | 'RowsOutside'
  | 'LimitReached'
  /** logfleet ended the search job before the service's maximum duration (E13). */
  | 'TimeOver'
  | 'MillisecondTooDense';

export type Verdict =
  /** The rows are committed. If they cover only the newer part of the interval, the older part is searched next. */
  | { readonly kind: 'commit'; readonly record: RecordFigures }
  /** The rows must be counted by an aggregation, because aggregations have no message limit. */
  | { readonly kind: 'count'; readonly interval: TimeRange }
  /**
   * All rows of the search job must be read, even if they were read before. With `anyOrder`, each row is compared with
   * all other rows to find duplicates (E9). With `mayLeave`, the oldest rows may be left to the next search (E4).
   */
  | { readonly kind: 'read'; readonly anyOrder: boolean; readonly mayLeave: boolean }
  /** The interval must be searched again. `isFailure` is true if the finished search counts as failed. */
  | { readonly kind: 'searchAgain'; readonly isFailure: boolean; readonly message: string }
  /**
   * The service also returns rows at the end of a range, although the end should be exclusive. The search is repeated
   * with an end 1 ms earlier (E10).
   */
  | { readonly kind: 'endsInclusive' }
  /** The interval is halved. The newer half, which begins at `atMs`, is searched first. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /**
   * One millisecond has more rows than one search can return. These rows are divided among several searches by the last
   * digits of their message ids.
   */
  | { readonly kind: 'dense'; readonly record: RecordFigures; readonly message: string }
  /**
   * The interval is incomplete, and another search would not help. With `incompletePolicy: Keep`, `record` is
   * committed, unless its rows are unusable (E5).
   */
  | {
      readonly kind: 'incomplete';
      readonly reason: Shortcoming;
      readonly record: RecordFigures | undefined;
      readonly message: string;
    };

const statusLost = 'a status response for the search job was lost, and may have contained an error';

/** Maximum number of repeated searches of an interval after an error or a wrong row count. */
export const searchesAgain = 1;

/**
 * Returns true if the search returned a row exactly at the end of the range. Such a row shows that the service treats
 * the end of a range as inclusive (E10).
 */
export function showsInclusiveEnd({ figures, results, isEndMoved }: SearchFacts): boolean {
  return results === 'Messages' && !isEndMoved && figures !== undefined && figures.atEnd > 0;
}

/**
 * Decides the next step for an interval after its search has ended. The first call comes before the rows of the search
 * are read.
 */
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
  assert(received === written + outside + duplicates + left, 'some rows of a search have not been counted');
  // Rows at the exclusive end of the range count towards the message limit and towards limits in the query, so they may
  // displace rows of the interval. Therefore, the search is repeated with a range that ends 1 ms earlier.
  const mayDisplace = cut ? cut.kind !== 'at' : !isSplittable;
  if (mayDisplace && showsInclusiveEnd(run)) return { kind: 'endsInclusive' };
  const isWrong = countOutside(run, figures) > 0 || lacksRows(run, figures);
  // The result pages may have been wrong, so the rows are read again with different page sizes.
  if (isWrong && run.results === 'Messages' && !run.isReadAgain) return readingOf(run, figures.isDisordered);
  if (countOutside(run, figures) > 0) return judgeStrays(run, figures);
  if (cut?.kind === 'bisect') return cut;
  if (run.results === 'Messages' && !figures.areDuplicatesSure) return readingOf(run, true);
  // The search may lack rows of its oldest millisecond, so all rows of this millisecond are left to the next search.
  if (cut?.kind === 'at' && writtenFrom(run, cut) < cut.atMs) return readingOf(run, false);
  const fromMs = cut ? writtenFrom(run, cut) : run.interval.fromMs;
  if (lacksRows(run, figures)) {
    const problem = `the search job reports ${run.jobCount} rows, but its result pages contain ${received - figures.overlapping} rows`;
    return again(run, 'CountDiffers', recordOf(run, figures, fromMs), problem);
  }
  if (cut?.kind === 'dense') return judgeDense(run, figures, fromMs);
  if (cut) return byCount(run, figures, fromMs);
  return sign === undefined ? judgeWhole(run, figures) : judgeUnsplittable(run, figures);
}

/**
 * Returns the number of rows outside the searched range. Rows exactly at the end of the interval are ignored, because
 * some services include the end (E10). If the searched range ends 1 ms earlier for this reason, these rows are counted.
 */
export function countOutside({ isEndMoved }: Pick<SearchFacts, 'isEndMoved'>, { outside, atEnd }: RowFigures): number {
  return isEndMoved ? outside : outside - atEnd;
}

/**
 * Decides the next step if a search returned rows outside its range. The result of such a search is not trusted,
 * because rows inside the range may be missing (E6).
 */
function judgeStrays(run: SearchFacts, figures: RowFigures): Verdict {
  const { strayMs = run.interval.toMs } = figures;
  const count = countOutside(run, figures);
  const time = run.byReceiptTime ? 'receipt times' : 'message times';
  const problem = `${count} of ${figures.received} rows have ${time} outside the interval, for example ${isoText(strayMs)}`;
  return again(run, 'RowsOutside', recordOf(run, figures, run.interval.fromMs), problem);
}

function cutOfRun(run: SearchFacts): Cut {
  const { oldestMs, isDisordered = false } = run.figures ?? {};
  const cut = cutOf(run.interval, { byReceiptTime: run.byReceiptTime, oldestMs, isDisordered });
  return run.isReadInPart && !isDisordered ? { kind: 'at', atMs: run.writtenFromMs ?? cut.atMs } : cut;
}

/** Returns true if the number of received rows differs from the number that the search job reports. */
function lacksRows({ isReadInPart, sign, jobCount }: SearchFacts, { received, overlapping }: RowFigures): boolean {
  if (overlapping > 0) return true;
  if (isReadInPart) return false;
  return sign === 'timeOver' ? received < jobCount : received !== jobCount;
}

function readingOf({ sign, isSplittable, byReceiptTime }: SearchFacts, anyOrder: boolean): Verdict {
  return { kind: 'read', anyOrder, mayLeave: sign !== undefined && isSplittable && !byReceiptTime };
}

function writtenFrom({ writtenFromMs }: SearchFacts, { kind, atMs }: Cut): number {
  return kind === 'dense' ? atMs : (writtenFromMs ?? atMs);
}

function judgeWhole(run: SearchFacts, figures: RowFigures): Verdict {
  const { interval, hasLostStatus, isSplittable, results, isReadTwice } = run;
  assert(figures.left === 0, 'the search covered the whole interval, but rows were left to the next search');
  if (!hasLostStatus && figures.duplicates > 0 && !isReadTwice) return readingOf(run, figures.isDisordered);
  if (!hasLostStatus) return { kind: 'commit', record: recordOf(run, figures, interval.fromMs) };
  if (isSplittable && results === 'Messages') return byCount(run, figures, interval.fromMs);
  return searchAgain(false, statusLost);
}

function judgeUnread(run: SearchFacts, cut: Cut | undefined): Verdict {
  if (run.byReceiptTime && cut?.kind === 'bisect') return cut;
  // The results of an aggregation that was ended early are wrong.
  const isKept = run.keepsIncomplete && !(run.sign === 'timeOver' && run.results === 'Records');
  const isLost = run.sign !== undefined && !run.isSplittable && !isKept;
  return isLost ? judgeUnsplittable(run, undefined) : readingOf(run, false);
}

/**
 * Reports an interval as incomplete. The service cut the search short, and the query cannot be split (E8), so the
 * missing rows cannot be exported.
 */
function judgeUnsplittable(run: SearchFacts, figures: RowFigures | undefined): Verdict {
  const reason = run.sign === 'timeOver' ? 'TimeOver' : 'LimitReached';
  const message = `${stopOf(run)}, and this query cannot be searched in shorter intervals`;
  const record = figures && flagged(recordOf(run, figures, run.interval.fromMs), reason);
  return { kind: 'incomplete', reason, record, message };
}

/** Returns the user-facing reason why a search may lack rows. */
function stopOf({ sign, jobCount }: SearchFacts): string {
  switch (sign) {
    case 'timeOver':
      return "the search had not ended after eight hours, the service's maximum duration";
    case 'roundCount':
      return `the search found ${jobCount} rows, which may be the service's message limit (if the query itself limits its rows to ${jobCount}, change this number in the query)`;
    case 'smallestLimit':
      return `the search may be incomplete: it found ${jobCount} rows, and the service has already cut off an earlier search at this number of rows or fewer`;
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
  // The search job found at least as many rows as the aggregation counted, so one search can return all rows of the
  // millisecond. Therefore, the search is repeated.
  if (counted.rows <= run.jobCount) return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
  const moment = isoText(atMs);
  const message = `the millisecond ${moment} has ${counted.rows} rows, but the search returned only ${figures.written} of them`;
  return { kind: 'dense', record: flagged(record, 'MillisecondTooDense'), message };
}

/**
 * Commits the rows at or after `fromMs` if a separate count confirms their number. Otherwise, decides whether the rows
 * must be read, counted or searched again.
 */
function byCount(run: SearchFacts, figures: RowFigures, fromMs: number): Verdict {
  const { toMs } = run.interval;
  const counted = countOf(run, fromMs);
  const differs = counted === undefined || !isAsCounted(run, figures, counted.rows) || !isEndShown(run, figures);
  // Only some rows of the job were read. If these include duplicates, the last rows of the counted range may have been
  // missed, so all rows are read now.
  if (counted && differs && run.isReadInPart) return readingOf(run, false);
  // A histogram may count duplicates, so an aggregation must count the rows.
  if (!counted || (differs && counted.source === 'Histogram')) return countingOf(run, figures, { fromMs, toMs });
  const record = recordOf(run, figures, fromMs, counted);
  if (!differs) return { kind: 'commit', record };
  return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
}

/**
 * Returns true if it is certain that every row of the counted range has been read: either the job has no more rows, or
 * a row before the counted range has also been read (E6).
 */
function isEndShown({ isReadInPart, jobCount }: SearchFacts, { left, received }: RowFigures): boolean {
  return !isReadInPart || left > 0 || received >= jobCount;
}

/**
 * Decides to count the rows by an aggregation. If there are duplicates, the rows are first read a second time to
 * confirm the duplicates, because counting closes the search job.
 */
function countingOf(run: SearchFacts, figures: RowFigures, interval: TimeRange): Verdict {
  const hasTwins = figures.duplicatesOfWritten > 0 && !run.hasLostStatus;
  return hasTwins && !run.isReadTwice ? readingOf(run, figures.isDisordered) : { kind: 'count', interval };
}

/** Returns true if the number of written rows equals the count. The count may include duplicates. */
function isAsCounted(run: SearchFacts, figures: RowFigures, counted: number): boolean {
  const { written, duplicatesOfWritten } = figures;
  // After a lost response, the count must equal the number of written rows without duplicates, because a repeated row
  // may hide a missing row.
  const isSure = run.isReadTwice && !run.hasLostStatus;
  return counted === written || (isSure && counted === written + duplicatesOfWritten);
}

function differenceOf(counted: number, { written }: RowFigures): string {
  return `the service counts ${counted} rows, but the search found ${written}`;
}

/**
 * Returns the number of rows at or after `fromMs` according to a histogram or an aggregation. A histogram is not
 * trusted after a lost response (E5).
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
 * Returns the row counts, sizes and times for a commit record (E6), or an empty object if the query is an aggregation.
 */
function provableOf(
  run: SearchFacts,
  figures: RowFigures,
  interval: TimeRange,
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
