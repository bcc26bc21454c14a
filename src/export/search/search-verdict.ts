/**
 * Judges the search of an interval: whether its rows prove the interval complete (E4 to E7, E9, E10). Pure. The caller does what the
 * verdict says and asks again with the new findings.
 *
 * Invariant: a record passes the checks of `commit-record.ts` on its own figures:
 * - Complete interval: the rows received equal the job's count.
 * - Cut interval, or job that proves nothing: the rows written equal the count of another source.
 * - Repeated row: it may have replaced another row, which no figure shows. It counts as a true duplicate if two readings had it.
 */
import { assert } from '../../base/assert.ts';
import type { CommitRecord, CountSource } from '../../destination/commit-record.ts';
import { summaryOf } from '../../destination/slice-figures.ts';
import { type Cut, type CutSign, cutOf, type Interval, type RowOrder } from './message-limit.ts';
import type { RunFigures } from './run-tally.ts';

/** Facts about a finished search. */
export interface SearchFacts {
  readonly interval: Interval;
  readonly results: 'Messages' | 'Records';
  readonly byReceiptTime: boolean;
  /** True if the range can be split (E8). */
  readonly isSplittable: boolean;
  /** True if `to − 1` was sent, because the ends of this service are inclusive (E10). */
  readonly isEndMoved: boolean;
  /** Sign of a cut for messages; records have no limit. */
  readonly sign: CutSign | undefined;
  /** The job's count of messages or records. */
  readonly jobCount: number;
  /** Distinct errors of the job, up to the number that is kept. */
  readonly pendingErrors: readonly string[];
  readonly isTainted: boolean;
  /** Figures of the reading; undefined before the first. */
  readonly figures: RunFigures | undefined;
  /** True if pages were read before the job was done (E7). */
  readonly isReadEarly: boolean;
  /**
   * For a cut search: true if only as many rows were requested as `counted` has from `writtenFromMs` on. The job counts more, and the point
   * of the cut is unknown.
   */
  readonly isReadInPart: boolean;
  /** True if the job was read completely more than once, with different page boundaries. */
  readonly isReadAgain: boolean;
  /** True if a second complete reading of the finished job had the same rows. */
  readonly isReadTwice: boolean;
  /** Start of the written rows, if known before reading; see `wholeBuckets`. */
  readonly writtenFromMs?: number;
  /** Count of an interval by another source than the job. */
  readonly counted?: {
    readonly interval: Interval;
    readonly rows: number;
    readonly source: Exclude<CountSource, 'Job'>;
  };
  /** True if unproven rows are kept and flagged, so that they must be read. */
  readonly keepsIncomplete: boolean;
  /** Number of earlier searches of this interval that proved nothing. */
  readonly failedBefore: number;
}

/** A commit record without its segment and files. */
export type RecordFigures = Omit<CommitRecord, 'segment' | 'files'>;

export type Shortcoming =
  | 'PendingErrors'
  | 'CountDiffers'
  /** An aggregation of the service differs from the written rows (E6). */
  | 'DigestDiffers'
  /** Rows outside the searched range were received. */
  | 'RowsOutside'
  | 'LimitReached'
  /** The search was ended before the service would have ended it (E13). */
  | 'TimeOver'
  | 'MillisecondTooDense';

export type Verdict =
  /** Write the record. The part before its `fromMs` is searched next. */
  | { readonly kind: 'commit'; readonly record: RecordFigures }
  /** Count this interval by a source without a limit, and judge again. */
  | { readonly kind: 'count'; readonly interval: Interval }
  /**
   * Read the finished job from its first row, again if necessary. `anyOrder`: remember all rows (E9). `mayLeave`: leave some of the oldest
   * rows for the next search (E4): those before the whole buckets, or the oldest millisecond if an earlier reading used buckets.
   */
  | { readonly kind: 'read'; readonly anyOrder: boolean; readonly mayLeave: boolean }
  /** Search the same interval with a new job. `isFailure`: counts in `failedBefore`. */
  | { readonly kind: 'searchAgain'; readonly isFailure: boolean; readonly message: string }
  /** Search the same interval with `to − 1`. */
  | { readonly kind: 'endsInclusive' }
  /** Search `[atMs, toMs)` first, then the rest. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /** One millisecond has more rows than a search returns. */
  | { readonly kind: 'dense'; readonly record: RecordFigures; readonly message: string }
  /** Another search gives nothing new. `record` is the record to keep with a flag; undefined if nothing may be committed (E5). */
  | {
      readonly kind: 'incomplete';
      readonly reason: Shortcoming;
      readonly record: RecordFigures | undefined;
      readonly message: string;
    };

const statusLost = 'the answer to a status request was lost, and may have contained an error';

/** Number of repeated searches after differing figures or errors. */
export const searchesAgain = 1;

/** Returns whether the search shows that the service's ends are inclusive (E10). Applies to every verdict. */
export function showsInclusiveEnd({ figures, results, isEndMoved }: SearchFacts): boolean {
  return results === 'Messages' && !isEndMoved && figures !== undefined && figures.atEnd > 0;
}

/** Returns the verdict. First called when the job is done and before pages are read, so that unneeded pages are not read. */
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
  if (run.isReadEarly && hasShifted(run, figures)) return readingOf(run, false);
  // Rows at the end replaced other rows.
  if (cut && cut.kind !== 'at' && showsInclusiveEnd(run)) return { kind: 'endsInclusive' };
  if (strays(run, figures) > 0) return judgeStrays(run, figures);
  if (cut?.kind === 'bisect') return cut;
  if (run.results === 'Messages' && !figures.areDuplicatesSure) return readingOf(run, true);
  if (figures.overlapping > 0 && !run.isReadAgain) return readingOf(run, figures.isDisordered);
  // No row is older than the written ones, whose oldest rows may be incomplete.
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

/** Number of rows outside the searched range. Rows at an inclusive end are expected (E10). */
export function strays({ isEndMoved }: Pick<SearchFacts, 'isEndMoved'>, { outside, atEnd }: RunFigures): number {
  return isEndMoved ? outside : outside - atEnd;
}

/** The rows have wrong times or belong to another search (E6). As many rows of the interval may be missing. */
function judgeStrays(run: SearchFacts, figures: RunFigures): Verdict {
  const { strayMs = run.interval.toMs } = figures;
  const count = strays(run, figures);
  const time = run.byReceiptTime ? 'receipt times' : 'message times';
  const problem = `${count} of ${figures.received} rows have ${time} outside this range, such as ${timeText(strayMs)}`;
  return again(run, 'RowsOutside', recordOf(run, figures, run.interval.fromMs), problem);
}

/** Time as text. Some rows have times that no date can represent. */
function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.valueOf()) ? `${ms} ms` : date.toISOString();
}

function cutOfRun(run: SearchFacts): Cut {
  const cut = cutOf(run.interval, orderOf(run));
  return run.isReadInPart && !run.figures?.isDisordered ? { kind: 'at', atMs: run.writtenFromMs ?? cut.atMs } : cut;
}

/** Returns whether the pages lack rows that the job counts. A search that is ended early may find more than it counted. */
function lacksRows({ isReadInPart, sign, jobCount }: SearchFacts, { received, overlapping }: RunFigures): boolean {
  if (overlapping > 0) return true;
  if (isReadInPart) return false;
  return sign === 'timeOver' ? received < jobCount : received !== jobCount;
}

function orderOf({ byReceiptTime, figures }: SearchFacts): RowOrder {
  return { byReceiptTime, oldestMs: figures?.oldestMs, isDisordered: figures?.isDisordered ?? false };
}

/** Returns whether rows that were read early may differ from those of the finished job (E7). */
function hasShifted(run: SearchFacts, figures: RunFigures): boolean {
  return run.results === 'Messages' && (lacksRows(run, figures) || figures.duplicates > 0 || figures.isDisordered);
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
  // Partial results of an aggregation are not usable.
  const isKept = run.keepsIncomplete && !(run.sign === 'timeOver' && run.results === 'Records');
  const isLost = run.sign !== undefined && !run.isSplittable && !isKept;
  return isLost ? judgeUnsplittable(run, undefined) : readingOf(run, false);
}

/** Verdict on a cut search that cannot be split (E8). */
function judgeUnsplittable(run: SearchFacts, figures: RunFigures | undefined): Verdict {
  const reason = run.sign === 'timeOver' ? 'TimeOver' : 'LimitReached';
  const message = `${stopOf(run)}, and the query cannot be split into intervals`;
  const record = figures && flagged(recordOf(run, figures, run.interval.fromMs), reason);
  return { kind: 'incomplete', reason, record, message };
}

/** Reason why a search counts as cut, for users. */
function stopOf({ sign, jobCount }: SearchFacts): string {
  switch (sign) {
    case 'timeOver':
      return 'the search was not done after eight hours, the maximum of the service';
    case 'roundCount':
      return `the search found ${jobCount} rows, a number that may be a limit of the service (if the query itself contains limit ${jobCount}, write another number there)`;
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
  // A search can return this number of rows, so others took their place.
  if (counted.rows <= run.jobCount) return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
  const moment = new Date(atMs).toISOString();
  const message = `the millisecond ${moment} has ${counted.rows} rows, but a search returns only ${figures.written} of them`;
  return { kind: 'dense', record: flagged(record, 'MillisecondTooDense'), message };
}

/** Commits `[fromMs, toMs)` if the written rows equal the count of another source. */
function byCount(run: SearchFacts, figures: RunFigures, fromMs: number): Verdict {
  const { toMs } = run.interval;
  const counted = countOf(run, fromMs);
  const differs = counted === undefined || !isAsCounted(run, figures, counted.rows) || !isEndShown(run, figures);
  // Rows outside the range, or repeated rows, took the place of others or of the next row.
  if (counted && differs && run.isReadInPart) return readingOf(run, false);
  // Buckets may contain such rows as well.
  if (!counted || (differs && counted.source === 'Histogram')) return countingOf(run, figures, { fromMs, toMs });
  const record = recordOf(run, figures, fromMs, counted);
  if (!differs) return { kind: 'commit', record };
  return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
}

/** Returns whether reading went beyond the counted rows. The count may lack a row, and only the next row shows that nothing is missing. */
function isEndShown({ isReadInPart, jobCount }: SearchFacts, { left, received }: RunFigures): boolean {
  return !isReadInPart || left > 0 || received >= jobCount;
}

/** Counting closes the job, so a second reading must come first. */
function countingOf(run: SearchFacts, figures: RunFigures, interval: Interval): Verdict {
  const hasTwins = figures.duplicatesOfWritten > 0 && !run.isTainted;
  return hasTwins && !run.isReadTwice ? readingOf(run, figures.isDisordered) : { kind: 'count', interval };
}

/** Returns whether the written rows equal the count, with or without duplicates that the service stores. */
function isAsCounted(run: SearchFacts, figures: RunFigures, counted: number): boolean {
  const { written, duplicatesOfWritten } = figures;
  // A job with possible errors may lack as many rows as were repeated.
  const isSure = run.isReadTwice && !run.isTainted;
  return counted === written || (isSure && counted === written + duplicatesOfWritten);
}

function differenceOf(counted: number, { written }: RunFigures): string {
  return `the service counts ${counted} rows, but the search found ${written}`;
}

/** Count from this time on by a source whose errors are known. The histogram of a job with a lost status does not qualify (E5). */
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

/** Figures for the comparison with a digest (E6); empty for records of an aggregation. */
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
