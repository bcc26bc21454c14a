/**
 * Reads a millisecond that has more rows than one search can return. Ten searches, one for each last digit of the
 * message ids, together find each row once. A search that the service cuts short is replaced by ten searches for the
 * last two digits.
 *
 * Rows are returned only if their number equals the count from an aggregation (E6). If a search's row count is the only
 * sign that the service cut it short, the search first counts as complete. If the total number of rows turns out to be
 * wrong, all searches are repeated, and searches with this sign count as cut short.
 */
import { asLogfleetError } from '../../base/errors.ts';
import { inParallel } from '../../base/parallel.ts';
import { sumOfFigures } from '../../destination/commit-record.ts';
import { joinSlices, recordedSlices } from '../../destination/slice-figures.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import { AnyOrder } from './duplicates.ts';
import { withOperators } from './export-definition.ts';
import { IntervalFiles } from './interval-files.ts';
import { JobPages } from './job-pages.ts';
import { withRetries } from './job-retries.ts';
import type { JobSet } from './job-set.ts';
import { cutSign } from './message-limit.ts';
import { type RowFigures, RowFilter, sumOfRepeated } from './row-filter.ts';
import type { SearchOrder, SearchTools } from './search-tools.ts';
import { countOutside, type RecordFigures } from './search-verdict.ts';
import { digestSliceLength } from './slice-length.ts';

export interface DenseMillisecond {
  readonly atMs: number;
  /** Number of rows according to an aggregation. */
  readonly rows: number;
  /**
   * Interval of the search that the service cut short. All rows that this search returned are from the millisecond
   * `atMs`.
   */
  readonly order: SearchOrder;
}

export interface DenseTools {
  readonly tools: SearchTools;
  readonly jobs: JobSet;
  readonly signal: AbortSignal;
}

export type DenseResult =
  /** The files contain all rows of the millisecond. The caller either commits or discards the files. */
  | { readonly kind: 'found'; readonly record: RecordFigures; readonly files: IntervalFiles }
  /**
   * The searches by last digits failed, or found a different number of rows than an aggregation counted. Another
   * attempt may succeed. `isFailure` is false if the cause may be a lost status response from the service.
   */
  | { readonly kind: 'again'; readonly isFailure: boolean; readonly message: string }
  /** The searches cannot find all rows of the millisecond. `message` is the user-facing reason, without a full stop. */
  | { readonly kind: 'tooDense'; readonly message: string };

/**
 * Searches the millisecond by the last digits of message ids. If the service or the destination fails, removes all
 * files and rejects.
 * @param dividesDoubtful true to treat a search as cut short even if its number of rows is the only sign
 */
export async function searchDense(
  dense: DenseMillisecond,
  options: DenseTools,
  dividesDoubtful = false,
): Promise<DenseResult> {
  const search = new DenseSearch(dense, options, dividesDoubtful);
  let result: DenseResult | undefined;
  try {
    result = await search.run();
  } finally {
    if (result?.kind !== 'found') await search.files.giveUp();
  }
  if (result.kind !== 'again' || !search.hasDoubt) return result;
  options.signal.throwIfAborted();
  return searchDense(dense, options, true);
}

const digits = Array.from('0123456789');
/**
 * Maximum number of digits at the end of a message id by which searches are divided. With two digits, at most 110
 * searches are needed.
 */
const maxDigits = 2;

/** Result of one search by the last digits of message ids. */
type ClassResult = ReadClass | { readonly kind: 'cut' } | ClassFailure;
type ClassFailure = Extract<DenseResult, { kind: 'again' | 'tooDense' }>;
type AgainResult = Extract<ClassFailure, { kind: 'again' }>;

interface ReadClass {
  readonly kind: 'read';
  readonly figures: RowFigures;
  readonly hasLostStatus: boolean;
}

class DenseSearch {
  readonly files: IntervalFiles;
  readonly #dense: DenseMillisecond;
  readonly #options: DenseTools;
  readonly #dividesDoubtful: boolean;
  /** Aborts the other searches when one search fails. */
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #read: readonly ReadClass[] = [];
  #failure: ClassFailure | undefined;
  #isAnyDoubtful = false;

  constructor(dense: DenseMillisecond, options: DenseTools, dividesDoubtful: boolean) {
    this.#dense = dense;
    this.#options = options;
    this.#dividesDoubtful = dividesDoubtful;
    this.files = new IntervalFiles(options.tools, dense.order, options.tools.describedFields);
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
  }

  async run(): Promise<DenseResult> {
    for (let endings: readonly string[] = digits; endings.length > 0; ) {
      const cut = await this.#searchAll(endings);
      if (this.#failure) return this.#failure;
      const tooLong = cut.find((ending) => ending.length === maxDigits);
      if (tooLong !== undefined)
        return {
          kind: 'tooDense',
          message: `even a search for only the messages whose _messageid ends in ${tooLong} finds more rows than one search can return`,
        };
      this.#options.signal.throwIfAborted();
      endings = cut.flatMap((ending) => digits.map((digit) => `${digit}${ending}`));
    }
    return this.#judge();
  }

  /** True if no search has failed, but a search that counts as complete may have been cut short. */
  get hasDoubt(): boolean {
    return this.#isAnyDoubtful && !this.#failure;
  }

  /**
   * Runs one search for each ending. An ending is the last one or two digits of a message id. Resolves to the endings
   * whose searches were cut short.
   */
  async #searchAll(endings: readonly string[]): Promise<readonly string[]> {
    const cut: string[] = [];
    const searchOne = async (ending: string) => {
      if (this.#signal.aborted) return;
      const part = await this.#searchClass(ending);
      if (part.kind === 'cut') cut.push(ending);
      else if (part.kind === 'read') this.#read = [...this.#read, part];
      else this.#fail(part);
    };
    const { searchesAtOnce } = this.#options.tools;
    await inParallel(endings, searchesAtOnce, (ending) => searchOne(ending).catch((error) => this.#abort(error)));
    return cut;
  }

  #fail(failure: ClassFailure): void {
    this.#failure ??= failure;
    this.#stop.abort();
  }

  /** Aborts all searches after an error. Ignores the subsequent errors that the abort causes. */
  #abort(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    throw error;
  }

  #sumOf(figure: 'received' | 'written' | 'outside' | 'duplicates' | 'duplicatesOfWritten'): number {
    return this.#read.reduce((sum, { figures }) => sum + figures[figure], 0);
  }

  #judge(): DenseResult {
    const { rows } = this.#dense;
    const written = this.#sumOf('written');
    // The aggregation's count may include duplicates.
    const isAsCounted = written === rows || written + this.#sumOf('duplicatesOfWritten') === rows;
    if (isAsCounted) return { kind: 'found', record: this.#record(), files: this.files };
    const hasLostStatus = this.#read.some((part) => part.hasLostStatus);
    const message = `the searches by the last digits of _messageid found ${written} rows in total`;
    // After a lost status response, the attempt does not count as a failure. The response may have contained an error
    // that explains why the numbers of rows differ (E5).
    return {
      kind: 'again',
      isFailure: !hasLostStatus,
      message: hasLostStatus ? `${message}, and a status response for a search job was lost` : message,
    };
  }

  #record(): RecordFigures {
    const { atMs, rows } = this.#dense;
    const found = this.#read.map(({ figures }) => figures);
    const repeated = sumOfRepeated(found);
    const duplicates = this.#sumOf('duplicates');
    const { identity } = this.#options.tools.definition;
    const slices = joinSlices(found.map((figures) => figures.slices?.slices ?? []));
    const interval = { fromMs: atMs, toMs: atMs + 1 };
    return {
      ...{ ...interval, left: 0, count: { rows, source: 'Aggregate' } },
      ...{ received: this.#sumOf('received'), written: this.#sumOf('written'), outside: this.#sumOf('outside') },
      duplicates,
      figures: sumOfFigures(found.map(({ messages }) => messages)),
      ...recordedSlices({ lengthMs: this.#sliceMs, slices }, interval, identity.byReceiptTime),
      ...(repeated && duplicates > 0 ? { repeated } : {}),
      ...(this.#options.tools.quirks.isEndInclusive ? { endInclusive: true } : {}),
    };
  }

  /** Reads the rows whose message ids end in `ending`. If the service cuts the search short, writes no rows. */
  async #searchClass(ending: string): Promise<ClassResult> {
    const filter = this.#newFilter();
    const isUntouched = () => filter.figures().received === 0;
    return await withRetries(
      () => this.#readClass(ending, filter),
      (part) => (part === undefined || part.kind === 'again') && isUntouched(),
      { clock: this.#options.tools.clock, signal: this.#signal },
    );
  }

  #newFilter(): RowFilter {
    const interval = { fromMs: this.#dense.atMs, toMs: this.#dense.atMs + 1 };
    const { byReceiptTime } = this.#options.tools.definition.identity;
    const sliceMs = this.#sliceMs;
    return new RowFilter({ interval, byReceiptTime, duplicates: new AnyOrder(), writtenFromMs: undefined, sliceMs });
  }

  get #sliceMs(): number {
    return digestSliceLength(this.#options.tools.definition.identity).lengthMs;
  }

  async #readClass(ending: string, filter: RowFilter): Promise<ClassResult> {
    const { tools, jobs } = this.#options;
    const isEndMoved = tools.quirks.isEndInclusive;
    const job = await this.#open(ending);
    if (!job)
      return { kind: 'tooDense', message: 'the service does not support searches by the last digits of _messageid' };
    try {
      const progress = await job.whenFinished(this.#signal);
      if (progress.errors.length > 0) return againAfterErrors(job);
      const sign = cutSign(progress, tools.quirks.smallestLimit, 'Messages');
      const isCertain = sign !== 'roundCount' && sign !== 'smallestLimit';
      // With the maximum number of digits, a search cannot be divided further, so it counts as complete. The count from
      // an aggregation will show whether rows are missing.
      const isDoubtful = !isCertain && ending.length < maxDigits;
      if (sign !== undefined && (isCertain || (isDoubtful && this.#dividesDoubtful))) return { kind: 'cut' };
      this.#isAnyDoubtful ||= isDoubtful;
      return await this.#readJob(job, filter, isEndMoved);
    } finally {
      await jobs.close(job);
    }
  }

  async #readJob(job: SearchJob, filter: RowFilter, isEndMoved: boolean): Promise<ReadClass | AgainResult> {
    const { messageCount, hasLostStatus } = job.progress;
    const pages = new JobPages({ job, tools: this.#options.tools, signal: this.#signal });
    await pages.readTo(messageCount, filter, this.files.receiver(filter));
    // While rows were being read, the service may have reported errors of the search job in its responses to keep-alive
    // requests (E5).
    if (job.progress.errors.length > 0) return againAfterErrors(job);
    const figures = filter.figures();
    const received = figures.received - figures.overlapping;
    if (received !== messageCount) {
      return again(`a search by _messageid found ${messageCount} rows, but its result pages contain ${received} rows`);
    }
    if (countOutside({ isEndMoved }, figures) > 0)
      return again('a search by _messageid returned rows from outside the searched millisecond');
    if (figures.duplicates === 0) return { kind: 'read', figures, hasLostStatus };
    // After a lost response, repeated rows are not accepted, because a repeated row may hide a missing row (E5).
    if (hasLostStatus)
      return {
        ...again(
          'a search by _messageid returned rows twice, and other rows may be missing, because a status response for the search job was lost',
        ),
        isFailure: false,
      };
    if (await this.#hasSameRepeats(pages, messageCount, figures)) return { kind: 'read', figures, hasLostStatus };
    return again('the result pages of a search by _messageid contained different rows when they were read again');
  }

  /**
   * Reads all rows of the job a second time. Returns true if both reads contain the same number of repeated rows, which
   * shows that the service stores these rows more than once.
   */
  async #hasSameRepeats(pages: JobPages, messageCount: number, figures: RowFigures): Promise<boolean> {
    const filter = this.#newFilter();
    pages.beginAgain();
    await pages.readTo(messageCount, filter, { row: (row) => void filter.take(row) });
    const { received, duplicates, overlapping } = filter.figures();
    return received === figures.received && duplicates === figures.duplicates && overlapping === 0;
  }

  /** Opens the search job for message ids with this ending. Returns undefined if the service refuses the query. */
  async #open(ending: string): Promise<SearchJob | undefined> {
    const { tools, jobs } = this.#options;
    const { atMs } = this.#dense;
    const order = tools.definition.order({ fromMs: atMs, toMs: atMs + 1 }, tools.quirks.isEndInclusive);
    try {
      return await jobs.open(withOperators(order, `where _messageid matches "*${ending}"`), 'Rows');
    } catch (thrown) {
      this.#signal.throwIfAborted();
      const error = asLogfleetError(thrown);
      if (error.reason !== 'QueryRefused') throw error;
      return undefined;
    }
  }
}

function againAfterErrors(job: SearchJob): AgainResult {
  return again(`a search by _messageid reported errors: ${job.progress.errors.slice(0, 3).join('; ')}`);
}

function again(message: string): AgainResult {
  return { kind: 'again', isFailure: true, message };
}
