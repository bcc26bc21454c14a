/**
 * What the search of an interval has to show before the interval counts as done (E4 to E7, E9, E10): the verdict on one search that
 * is over and read. Pure; whoever asks does what the verdict says, and asks again with what is learnt by that.
 *
 * Invariant: a record for a commit holds by its own figures, as `commit-record.ts` checks them: for a whole interval the rows received
 * are what the job counted; for a cut one, or one whose job proves nothing, what was written is what something else counted. A row that
 * comes twice may have come in the place of another, which no figure shows: that it is there twice is believed when it was so twice.
 */
import { assert } from '../base/assert.ts';
import type { CommitRecord, CountSource } from '../destination/commit-record.ts';
import { summaryOf } from '../destination/slice-figures.ts';
import { type Cut, type CutSign, cutOf, type Interval, type RowOrder } from './cut.ts';
import type { RunFigures } from './run-tally.ts';

/** What is known of one search that is over. */
export interface Run {
  readonly interval: Interval;
  readonly results: 'Messages' | 'Records';
  readonly byReceiptTime: boolean;
  /** E8. */
  readonly isSplittable: boolean;
  /** Whether `to − 1` was sent, since the ends of this service are known to be inclusive (E10). */
  readonly isEndMoved: boolean;
  /** Of messages; records have no limit. */
  readonly sign: CutSign | undefined;
  /** What the job says: its messages, or its records. */
  readonly jobCount: number;
  /** Different ones, as many as are kept. */
  readonly pendingErrors: readonly string[];
  readonly isTainted: boolean;
  /** Undefined while nothing was read. */
  readonly figures: RunFigures | undefined;
  /** Pages were read before the job was done (E7). */
  readonly isReadEarly: boolean;
  /**
   * Of a cut one, only as many rows were asked for as `counted` has from `writtenFromMs` on: the job counts more, and where it was cut does
   * not show.
   */
  readonly isReadInPart: boolean;
  /** The job was read more than once from its first row on, each time with other pages. */
  readonly isReadAgain: boolean;
  /** The finished job was read once more from its first row on, and had the same. */
  readonly isReadTwice: boolean;
  /** From where on rows were written, where that was known before reading; see `wholeBuckets`. */
  readonly writtenFromMs?: number;
  /** What something else than the job counted in an interval. */
  readonly counted?: {
    readonly interval: Interval;
    readonly rows: number;
    readonly source: Exclude<CountSource, 'Job'>;
  };
  /** Whether what cannot be proven is kept, flagged: only then it has to be read. */
  readonly keepsIncomplete: boolean;
  /** Searches of this interval before, the same way, that proved nothing. */
  readonly failedBefore: number;
}

/** A record but for what the caller knows: its segment and its files. */
export type RecordFigures = Omit<CommitRecord, 'segment' | 'files'>;

export type Shortcoming =
  | 'PendingErrors'
  | 'CountDiffers'
  /** An aggregation of the service has other figures than what was written (E6). */
  | 'DigestDiffers'
  /** Rows came that do not belong to the range that was searched. */
  | 'RowsOutside'
  | 'LimitReached'
  /** The search was given up before the service would have ended it (E13). */
  | 'TimeOver'
  | 'MillisecondTooDense';

export type Verdict =
  /** Write the record; what is before its `fromMs` is searched next. */
  | { readonly kind: 'commit'; readonly record: RecordFigures }
  /** Count this interval by something that the limit does not touch, and judge again. */
  | { readonly kind: 'count'; readonly interval: Interval }
  /**
   * Read the finished job from its first row on, also when it was read before; with all rows remembered (E9) where `anyOrder`. Where
   * `mayLeave`, some of the oldest are left for the next search (E4): what is before the whole buckets, or, when it was read by these
   * before, the oldest millisecond.
   */
  | { readonly kind: 'read'; readonly anyOrder: boolean; readonly mayLeave: boolean }
  /** The same interval, by a new job. `isFailure`: it counts among `failedBefore`. */
  | { readonly kind: 'searchAgain'; readonly isFailure: boolean; readonly message: string }
  /** The same interval, with `to − 1` sent. */
  | { readonly kind: 'endsInclusive' }
  /** Search `[atMs, toMs)` first, then what is before. */
  | { readonly kind: 'bisect'; readonly atMs: number }
  /** One millisecond has more than a search can return. */
  | { readonly kind: 'dense'; readonly record: RecordFigures; readonly message: string }
  /** Searching again gives nothing new. `record` is what may be kept, flagged; none where nothing may be committed (E5). */
  | {
      readonly kind: 'incomplete';
      readonly reason: Shortcoming;
      readonly record: RecordFigures | undefined;
      readonly message: string;
    };

const statusLost = 'the answer to a status was lost, and maybe an error with it';

/** How often an interval whose figures differ is searched again, and one that brought errors. */
export const searchesAgain = 1;

/** Whether the search shows that the ends of this service are inclusive (E10): to be heeded whatever the verdict. */
export function showsInclusiveEnd({ figures, results, isEndMoved }: Run): boolean {
  return results === 'Messages' && !isEndMoved && figures !== undefined && figures.atEnd > 0;
}

/** To be asked first when the job is done, before its pages are read: what need not be read is not. */
export function judge(run: Run): Verdict {
  const { pendingErrors, sign, isSplittable, figures } = run;
  if (pendingErrors.length > 0) {
    return again(run, 'PendingErrors', undefined, `the search brought errors: ${pendingErrors.slice(0, 3).join('; ')}`);
  }
  const cut = sign !== undefined && isSplittable ? cutOfRun(run) : undefined;
  if (!figures) return judgeUnread(run, cut);
  const { received, written, outside, duplicates, left } = figures;
  assert(received === written + outside + duplicates + left, 'rows of a search are not accounted for');
  if (run.isReadEarly && hasShifted(run, figures)) return readingOf(run, false);
  // Rows behind the end took the room of others.
  if (cut && cut.kind !== 'at' && showsInclusiveEnd(run)) return { kind: 'endsInclusive' };
  if (strays(run, figures) > 0) return judgeStrays(run, figures);
  if (cut?.kind === 'bisect') return cut;
  if (run.results === 'Messages' && !figures.areDuplicatesSure) return readingOf(run, true);
  if (figures.overlapping > 0 && !run.isReadAgain) return readingOf(run, figures.isDisordered);
  // None of the rows is older than what was written, which may lack some of its oldest.
  if (cut?.kind === 'at' && writtenFrom(run, cut) < cut.atMs) return readingOf(run, false);
  const fromMs = cut ? writtenFrom(run, cut) : run.interval.fromMs;
  if (lacksRows(run, figures)) {
    const problem = `the job counts ${run.jobCount} rows, and its pages have ${received - figures.overlapping}`;
    return again(run, 'CountDiffers', recordOf(run, figures, fromMs), problem);
  }
  if (cut?.kind === 'dense') return judgeDense(run, figures, fromMs);
  if (cut) return byCount(run, figures, fromMs);
  return sign === undefined ? judgeWhole(run, figures) : judgeUnsplittable(run, figures);
}

/** Rows outside of what was searched. Those at an end that turns out to be inclusive are expected (E10). */
export function strays({ isEndMoved }: Pick<Run, 'isEndMoved'>, { outside, atEnd }: RunFigures): number {
  return isEndMoved ? outside : outside - atEnd;
}

/** E6. Their times are wrong, or they belong to another search; as many of the interval may be missing. */
function judgeStrays(run: Run, figures: RunFigures): Verdict {
  const { strayMs = run.interval.toMs } = figures;
  const count = strays(run, figures);
  const time = run.byReceiptTime ? 'receipt times' : 'message times';
  const problem = `${count} of ${figures.received} rows have ${time} outside of that, such as ${timeText(strayMs)}`;
  return again(run, 'RowsOutside', recordOf(run, figures, run.interval.fromMs), problem);
}

/** A row may have a time that no date shows. */
function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.valueOf()) ? `${ms} ms` : date.toISOString();
}

function cutOfRun(run: Run): Cut {
  const cut = cutOf(run.interval, orderOf(run));
  return run.isReadInPart && !run.figures?.isDisordered ? { kind: 'at', atMs: run.writtenFromMs ?? cut.atMs } : cut;
}

/** The pages do not have what the job counts. One that was given up while it ran finds more. */
function lacksRows({ isReadInPart, sign, jobCount }: Run, { received, overlapping }: RunFigures): boolean {
  if (overlapping > 0) return true;
  if (isReadInPart) return false;
  return sign === 'timeOver' ? received < jobCount : received !== jobCount;
}

function orderOf({ byReceiptTime, figures }: Run): RowOrder {
  return { byReceiptTime, oldestMs: figures?.oldestMs, isDisordered: figures?.isDisordered ?? false };
}

/** E7: what was read is not what the finished job has, or may not be. */
function hasShifted(run: Run, figures: RunFigures): boolean {
  return run.results === 'Messages' && (lacksRows(run, figures) || figures.duplicates > 0 || figures.isDisordered);
}

function readingOf({ sign, isSplittable, byReceiptTime }: Run, anyOrder: boolean): Verdict {
  return { kind: 'read', anyOrder, mayLeave: sign !== undefined && isSplittable && !byReceiptTime };
}

function writtenFrom({ writtenFromMs }: Run, { kind, atMs }: Cut): number {
  return kind === 'dense' ? atMs : (writtenFromMs ?? atMs);
}

function judgeWhole(run: Run, figures: RunFigures): Verdict {
  const { interval, isTainted, isSplittable, results, isReadTwice } = run;
  assert(figures.left === 0, 'a whole interval leaves no rows');
  if (!isTainted && figures.duplicates > 0 && !isReadTwice) return readingOf(run, figures.isDisordered);
  if (!isTainted) return { kind: 'commit', record: recordOf(run, figures, interval.fromMs) };
  if (isSplittable && results === 'Messages') return byCount(run, figures, interval.fromMs);
  return searchAgain(false, statusLost);
}

function judgeUnread(run: Run, cut: Cut | undefined): Verdict {
  if (run.byReceiptTime && cut?.kind === 'bisect') return cut;
  // What an aggregation has that is half made are no rows of it.
  const isKept = run.keepsIncomplete && !(run.sign === 'timeOver' && run.results === 'Records');
  const isLost = run.sign !== undefined && !run.isSplittable && !isKept;
  return isLost ? judgeUnsplittable(run, undefined) : readingOf(run, false);
}

/** E8. */
function judgeUnsplittable(run: Run, figures: RunFigures | undefined): Verdict {
  const reason = run.sign === 'timeOver' ? 'TimeOver' : 'LimitReached';
  const message = `${stopOf(run)}, and the query cannot be split into intervals`;
  const record = figures && flagged(recordOf(run, figures, run.interval.fromMs), reason);
  return { kind: 'incomplete', reason, record, message };
}

/** Why a search counts as cut, for people. */
function stopOf({ sign, jobCount }: Run): string {
  switch (sign) {
    case 'timeOver':
      return 'the search was not done after eight hours, when the service ends it';
    case 'roundCount':
      return `the search found ${jobCount} rows, as many as a limit of the service may be (where the query itself ends with so many, as by limit ${jobCount}, another number there shows that it is none)`;
    case 'smallestLimit':
      return `the search found ${jobCount} rows, and the service has cut one before at so many or fewer`;
    default:
      return `the search stopped at ${jobCount} rows`;
  }
}

function judgeDense(run: Run, figures: RunFigures, atMs: number): Verdict {
  const { toMs } = run.interval;
  const counted = countOf(run, atMs);
  if (!counted) return countingOf(run, figures, { fromMs: atMs, toMs });
  const record = recordOf(run, figures, atMs, counted);
  if (isAsCounted(run, figures, counted.rows)) return { kind: 'commit', record };
  if (run.isTainted) return searchAgain(false, statusLost);
  // A search could return so many: others took their room.
  if (counted.rows <= run.jobCount) return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
  const moment = new Date(atMs).toISOString();
  const message = `the millisecond ${moment} has ${counted.rows} rows, and a search returns ${figures.written} of them`;
  return { kind: 'dense', record: flagged(record, 'MillisecondTooDense'), message };
}

/** Commits `[fromMs, toMs)` when what was written is what something else counted. */
function byCount(run: Run, figures: RunFigures, fromMs: number): Verdict {
  const { toMs } = run.interval;
  const counted = countOf(run, fromMs);
  const differs = counted === undefined || !isAsCounted(run, figures, counted.rows) || !isEndShown(run, figures);
  // What lies outside, or came again, has taken the room of others, or of the row behind them.
  if (counted && differs && run.isReadInPart) return readingOf(run, false);
  // Buckets may have such rows, too.
  if (!counted || (differs && counted.source === 'Histogram')) return countingOf(run, figures, { fromMs, toMs });
  const record = recordOf(run, figures, fromMs, counted);
  if (!differs) return { kind: 'commit', record };
  return again(run, 'CountDiffers', record, differenceOf(counted.rows, figures));
}

/** What was counted may lack a row: that there is none shows a row behind what it counts, where not all rows were read. */
function isEndShown({ isReadInPart, jobCount }: Run, { left, received }: RunFigures): boolean {
  return !isReadInPart || left > 0 || received >= jobCount;
}

/** A count is the end of the job: what has to be read again is read before. */
function countingOf(run: Run, figures: RunFigures, interval: Interval): Verdict {
  const hasTwins = figures.duplicatesOfWritten > 0 && !run.isTainted;
  return hasTwins && !run.isReadTwice ? readingOf(run, figures.isDisordered) : { kind: 'count', interval };
}

/** What is written is what was counted; or all of it, where the service has rows twice and counts them so. */
function isAsCounted(run: Run, figures: RunFigures, counted: number): boolean {
  const { written, duplicatesOfWritten } = figures;
  // A job that may have brought errors may lack as many rows as came twice.
  const isSure = run.isReadTwice && !run.isTainted;
  return counted === written || (isSure && counted === written + duplicatesOfWritten);
}

function differenceOf(counted: number, { written }: RunFigures): string {
  return `${counted} rows were counted, and ${written} were found`;
}

/** What was counted from there on, by something whose errors are all known: of a job that lost a status, its histogram is none (E5). */
function countOf({ counted, interval, isTainted }: Run, fromMs: number): Run['counted'] {
  if (counted?.interval.fromMs !== fromMs || counted.interval.toMs !== interval.toMs) return undefined;
  return isTainted && counted.source === 'Histogram' ? undefined : counted;
}

function again(run: Run, reason: Shortcoming, record: RecordFigures | undefined, problem: string): Verdict {
  const { fromMs, toMs } = run.interval;
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  const message = `from ${from} to ${to} ${problem}`;
  if (run.failedBefore < searchesAgain) return searchAgain(true, message);
  return { kind: 'incomplete', reason, record: record && flagged(record, reason), message };
}

function searchAgain(isFailure: boolean, message: string): Verdict {
  return { kind: 'searchAgain', isFailure, message };
}

function flagged(record: RecordFigures, reason: Shortcoming): RecordFigures {
  return { ...record, incomplete: { reason } };
}

function recordOf(run: Run, figures: RunFigures, fromMs: number, counted?: Run['counted']): RecordFigures {
  const { received, written, outside, duplicates, left } = figures;
  const count = counted
    ? { rows: counted.rows, source: counted.source }
    : { rows: run.jobCount, source: 'Job' as const };
  const record = { fromMs, toMs: run.interval.toMs, received, written, outside, duplicates, left, count };
  return { ...record, ...provableOf(run, figures, record) };
}

/** What a digest is compared with (E6); nothing of the records of an aggregation. */
function provableOf(
  run: Run,
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
