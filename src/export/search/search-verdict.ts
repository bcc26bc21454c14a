/**
 * Judges the search of an interval: decides whether its rows prove that the interval is complete (E4 to E6, E9, E10). All functions are
 * pure. The caller carries out the verdict and asks again with the new findings.
 *
 * Invariant: `commit-record.ts` accepts each record by the numbers of rows in it:
 * - In a complete interval, the number of received rows equals the number that the search job reports.
 * - If the message limit cut the search, or the job may have lost errors, the number of written rows equals a count by another source.
 * - A repeated row may have taken the place of another row, and no count shows that. The service really stores a row twice if two readings
 *   returned it twice.
 */
import { assert } from '../../base/assert.ts';
import type { CommitRecord, CountSource } from '../../destination/commit-record.ts';
import { summaryOf } from '../../destination/slice-figures.ts';
import { type Cut, type CutSign, cutOf, type Interval, type RowOrder } from './message-limit.ts';
import type { RunFigures } from './run-tally.ts';

/** Facts about the finished search of an interval, from which `judge` derives its verdict. */
export interface SearchFacts {
  readonly interval: Interval;
  readonly results: 'Messages' | 'Records';
  readonly byReceiptTime: boolean;
  /** True if the export's range can be split into intervals (E8). */
  readonly isSplittable: boolean;
  /** True if the search was requested with `to − 1` as its end, because this service includes the end of a range (E10). */
  readonly isEndMoved: boolean;
  /**
   * Sign that the search ended at the service's message limit, so that rows are missing. Undefined without such a sign, and for records of
   * an aggregation, which have no limit.
   */
  readonly sign: CutSign | undefined;
  /** Number of messages or records that the search job reports. */
  readonly jobCount: number;
  /** Distinct errors that the search job reported; only the first ones if there are many. */
  readonly pendingErrors: readonly string[];
  readonly isTainted: boolean;
  /** Numbers and times of rows in the latest reading of the job's pages; undefined until the rows have been read. */
  readonly figures: RunFigures | undefined;
  /**
   * True if only some of the search job's rows were requested. After a cut at an unknown time, only the newest rows are requested: as many
   * as another source counted (`counted`).
   */
  readonly isReadInPart: boolean;
  /** True if all rows of the job were read more than once, with different page boundaries each time. */
  readonly isReadAgain: boolean;
  /** True if two complete readings of the finished job returned the same rows. */
  readonly isReadTwice: boolean;
  /** Time from which the search's rows are written to files, if it is known before they are read; see `wholeBuckets`. */
  readonly writtenFromMs?: number;
  /** Number of rows in an interval, counted by another source than the search job: a histogram or an aggregation. */
  readonly counted?: {
    readonly interval: Interval;
    readonly rows: number;
    readonly source: Exclude<CountSource, 'Job'>;
  };
  /** True if the export writes rows of unproven intervals and flags them as incomplete. Their rows must then be read. */
  readonly keepsIncomplete: boolean;
  /** Number of earlier searches of this interval that could not prove it complete. */
  readonly failedBefore: number;
}

/** Content of a commit record, except for its segment number and its list of files. */
export type RecordFigures = Omit<CommitRecord, 'segment' | 'files'>;

export type Shortcoming =
  | 'PendingErrors'
  | 'CountDiffers'
  /** The numbers, sizes or times of rows that the service's aggregation computed differ from those of the written rows (E6). */
  | 'DigestDiffers'
  /** The search returned rows outside its time range. */
  | 'RowsOutside'
  | 'LimitReached'
  /** logfleet ended the search job shortly before the service would have ended it for its long duration (E13). */
  | 'TimeOver'
  | 'MillisecondTooDense';

export type Verdict =
  /** Write this commit record. If the record starts later than the interval, the time before the record is searched next. */
  | { readonly kind: 'commit'; readonly record: RecordFigures }
  /** Count the rows of this interval by an aggregation, which has no message limit. Then judge the search again. */
  | { readonly kind: 'count'; readonly interval: Interval }
  /**
   * Read the rows of the finished job from the first one, even if they were read before.
   * - `anyOrder`: compare each row with all earlier rows to find duplicates (E9).
   * - `mayLeave`: some of the oldest rows, such as those of the oldest millisecond, may be left to the next search
   *   (E4).
   */
  | { readonly kind: 'read'; readonly anyOrder: boolean; readonly mayLeave: boolean }
  /**
   * Search the same interval with a new search job. `isFailure` tells whether `failedBefore` counts the finished
   * search.
   */
  | { readonly kind: 'searchAgain'; readonly isFailure: boolean; readonly message: string }
  /** Search the same interval again with `to − 1` as its end, because the service includes the end of a range. */
  | { readonly kind: 'endsInclusive' }
  /** Search the newer part `[atMs, toMs)` of the interval first, then the older part. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /** A single millisecond has more rows than one search returns, so it must be searched in another way. */
  | { readonly kind: 'dense'; readonly record: RecordFigures; readonly message: string }
  /**
   * The interval cannot be proven complete, and another search would give the same result. `record` is the commit
   * record to write with a flag; it is undefined if no row may be committed (E5).
   */
  | {
      readonly kind: 'incomplete';
      readonly reason: Shortcoming;
      readonly record: RecordFigures | undefined;
      readonly message: string;
    };

const statusLost = 'the answer to a status request was lost, and may have contained an error';

/** Maximum number of times that an interval is searched again after errors, or because its number of rows is wrong. */
export const searchesAgain = 1;

/** Returns whether the search shows that the service includes the end of a range (E10). The caller checks this with every verdict. */
export function showsInclusiveEnd({ figures, results, isEndMoved }: SearchFacts): boolean {
  return results === 'Messages' && !isEndMoved && figures !== undefined && figures.atEnd > 0;
}

/**
 * Returns the verdict on a search. The first call comes when the job is done, before pages are read, so that unneeded pages are never
 * requested.
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
  assert(received === written + outside + duplicates + left, 'rows of a search are not accounted for');
  // The message limit cut the search, and rows at the exact end of the range took the place of other rows. Only a new search with an
  // earlier end returns the other rows.
  if (cut && cut.kind !== 'at' && showsInclusiveEnd(run)) return { kind: 'endsInclusive' };
  const isWrong = strays(run, figures) > 0 || lacksRows(run, figures);
  // Single pages may have been wrong. Another reading uses other page boundaries and may return the right rows.
  if (isWrong && run.results === 'Messages' && !run.isReadAgain) return readingOf(run, figures.isDisordered);
  if (strays(run, figures) > 0) return judgeStrays(run, figures);
  if (cut?.kind === 'bisect') return cut;
  if (run.results === 'Messages' && !figures.areDuplicatesSure) return readingOf(run, true);
  // The oldest millisecond that was written may be incomplete, because no older row was read. Another reading does not write that
  // millisecond.
  if (cut?.kind === 'at' && writtenFrom(run, cut) < cut.atMs) return readingOf(run, false);
  const fromMs = cut ? writtenFrom(run, cut) : run.interval.fromMs;
  if (lacksRows(run, figures)) {
    const problem = `the job counts ${run.jobCount} rows, but its pages have ${received - figures.overlapping}`;
    return again(run, 'CountDiffers', recordOf(run, figures, fromMs), problem);
  }
  if (cut?.kind === 'dense') return judgeDense(run, figures, fromMs);
  if (cut) return byCount(run, figures, fromMs);
  return sign === undefined ? judgeWhole(run, figures) : judgeUnsplittable(run, figures);
}

/**
 * Number of rows outside the searched range. Rows at the exact end of the range count only if the search was requested with an earlier end.
 * Otherwise such rows show that the service includes the end of a range (E10).
 */
export function strays({ isEndMoved }: Pick<SearchFacts, 'isEndMoved'>, { outside, atEnd }: RunFigures): number {
  return isEndMoved ? outside : outside - atEnd;
}

/**
 * Verdict on rows outside the range. Rows outside have wrong times or belong to another search, and may have taken the place of rows of the
 * interval (E6).
 */
function judgeStrays(run: SearchFacts, figures: RunFigures): Verdict {
  const { strayMs = run.interval.toMs } = figures;
  const count = strays(run, figures);
  const time = run.byReceiptTime ? 'receipt times' : 'message times';
  const problem = `${count} of ${figures.received} rows have ${time} outside this range, such as ${timeText(strayMs)}`;
  return again(run, 'RowsOutside', recordOf(run, figures, run.interval.fromMs), problem);
}

/** Renders a time as text. A time that no date can represent is rendered in milliseconds. */
function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.valueOf()) ? `${ms} ms` : date.toISOString();
}

function cutOfRun(run: SearchFacts): Cut {
  const cut = cutOf(run.interval, orderOf(run));
  return run.isReadInPart && !run.figures?.isDisordered ? { kind: 'at', atMs: run.writtenFromMs ?? cut.atMs } : cut;
}

/**
 * Returns whether the pages contain fewer rows than the search job reports. After an early end, a search job may return more rows than it
 * reported before.
 */
function lacksRows({ isReadInPart, sign, jobCount }: SearchFacts, { received, overlapping }: RunFigures): boolean {
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

function judgeWhole(run: SearchFacts, figures: RunFigures): Verdict {
  const { interval, isTainted, isSplittable, results, isReadTwice } = run;
  assert(figures.left === 0, 'a whole interval leaves no rows');
  if (!isTainted && figures.duplicates > 0 && !isReadTwice) return readingOf(run, figures.isDisordered);
  if (!isTainted) return { kind: 'commit', record: recordOf(run, figures, interval.fromMs) };
  if (isSplittable && results === 'Messages') return byCount(run, figures, interval.fromMs);
  return searchAgain(false, statusLost);
}

function judgeUnread(run: SearchFacts, cut: Cut | undefined): Verdict {
  if (run.byReceiptTime && cut?.kind === 'bisect') return cut;
  // An aggregation that was ended early has partial results, which are never written.
  const isKept = run.keepsIncomplete && !(run.sign === 'timeOver' && run.results === 'Records');
  const isLost = run.sign !== undefined && !run.isSplittable && !isKept;
  return isLost ? judgeUnsplittable(run, undefined) : readingOf(run, false);
}

/**
 * Verdict on a search that the message limit cut, if its query cannot be split into smaller intervals (E8). No other
 * search can find the missing rows.
 */
function judgeUnsplittable(run: SearchFacts, figures: RunFigures | undefined): Verdict {
  const reason = run.sign === 'timeOver' ? 'TimeOver' : 'LimitReached';
  const message = `${stopOf(run)}, and the query cannot be split into intervals`;
  const record = figures && flagged(recordOf(run, figures, run.interval.fromMs), reason);
  return { kind: 'incomplete', reason, record, message };
}

/** Explains to users why the search counts as cut at the message limit. */
function stopOf({ sign, jobCount }: SearchFacts): string {
  switch (sign) {
    case 'timeOver':
      return 'the search had not ended after eight hours, the maximum duration of the service';
    case 'roundCount':
      return `the search found ${jobCount} rows, a number that may be a limit of the service (if the query itself limits its rows to ${jobCount}, write another number there)`;
    case 'smallestLimit':
      return `the search found ${jobCount} rows, and the service has cut an earlier search at that number or fewer`;
    default:
      return `the search stopped at ${jobCount} rows`;
  }
}

function judgeDense(run: SearchFacts, figures: RunFigures, atMs: number): Verdict {
  const { toMs } = run.interval;
  const counted = countOf(run, atMs);
  if (!counted) return countingOf(run, figures, { fromMs: atMs, toMs });
  const record = recordOf(run, figures, atMs, counted);
  if (isAsCounted(run, figures, counted.rows)) return { kind: 'commit', record };
  if (run.isTainted) return searchAgain(false, statusLost);
  // The interval has few enough rows for one search, so the search must have returned wrong rows in place of the missing ones.
  if (counted.rows <= run.jobCount) return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
  const moment = new Date(atMs).toISOString();
  const message = `the millisecond ${moment} has ${counted.rows} rows, but a search returns only ${figures.written} of them`;
  return { kind: 'dense', record: flagged(record, 'MillisecondTooDense'), message };
}

/**
 * Commits `[fromMs, toMs)` if the number of written rows equals the number counted by a histogram or an aggregation.
 */
function byCount(run: SearchFacts, figures: RunFigures, fromMs: number): Verdict {
  const { toMs } = run.interval;
  const counted = countOf(run, fromMs);
  const differs = counted === undefined || !isAsCounted(run, figures, counted.rows) || !isEndShown(run, figures);
  // Some rows that were read are repeated or outside the range. Reading all rows of the job also returns the rows whose
  // place they took.
  if (counted && differs && run.isReadInPart) return readingOf(run, false);
  // The buckets of the histogram may also count repeated rows or rows outside the range, so an aggregation must count the interval.
  if (!counted || (differs && counted.source === 'Histogram')) return countingOf(run, figures, { fromMs, toMs });
  const record = recordOf(run, figures, fromMs, counted);
  if (!differs) return { kind: 'commit', record };
  return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
}

/**
 * Returns whether one more row was read than the interval's count, if the job has one more. The count may be too small by one, and only the
 * next row shows that no row is missing.
 */
function isEndShown({ isReadInPart, jobCount }: SearchFacts, { left, received }: RunFigures): boolean {
  return !isReadInPart || left > 0 || received >= jobCount;
}

/** Requests a count of the interval. Rows with duplicates are read a second time first, because counting closes the job. */
function countingOf(run: SearchFacts, figures: RunFigures, interval: Interval): Verdict {
  const hasTwins = figures.duplicatesOfWritten > 0 && !run.isTainted;
  return hasTwins && !run.isReadTwice ? readingOf(run, figures.isDisordered) : { kind: 'count', interval };
}

/**
 * Returns whether the number of written rows equals the count of another source. That count may include repeated rows that the service
 * really stores.
 */
function isAsCounted(run: SearchFacts, figures: RunFigures, counted: number): boolean {
  const { written, duplicatesOfWritten } = figures;
  // If an error of the job may have been lost, other rows may be missing in place of the repeated rows.
  const isSure = run.isReadTwice && !run.isTainted;
  return counted === written || (isSure && counted === written + duplicatesOfWritten);
}

function differenceOf(counted: number, { written }: RunFigures): string {
  return `the service counts ${counted} rows, but the search found ${written}`;
}

/**
 * Returns the count of the rows from `fromMs` to the interval's end. If a status answer of the job was lost, its histogram is not used,
 * because the job may have had errors (E5).
 */
function countOf({ counted, interval, isTainted }: SearchFacts, fromMs: number): SearchFacts['counted'] {
  if (counted?.interval.fromMs !== fromMs || counted.interval.toMs !== interval.toMs) return undefined;
  return isTainted && counted.source === 'Histogram' ? undefined : counted;
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
  figures: RunFigures,
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
 * Sums and times of rows that a commit record stores, so that the service's digest can confirm them later (E6); empty for records of an
 * aggregation.
 */
function provableOf(
  run: SearchFacts,
  figures: RunFigures,
  interval: Interval,
): Pick<CommitRecord, 'figures' | 'slices' | 'repeated' | 'endInclusive'> {
  if (run.results === 'Records') return {};
  const { messages, slices, repeated, atEnd } = figures;
  return {
    figures: messages,
    ...(slices && { slices: summaryOf(slices, interval) }),
    ...(repeated && figures.duplicates > 0 ? { repeated } : {}),
    ...(run.isEndMoved || atEnd > 0 ? { endInclusive: true } : {}),
  };
}
