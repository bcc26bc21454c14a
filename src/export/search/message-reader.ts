/**
 * Reads the messages that a finished search job has found, and writes them to files (E7). If the messages are read
 * again, they are written to new files.
 */
import { failure, type LogfleetError } from '../../base/errors.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { AnyOrder, InOrder } from './duplicates.ts';
import { IntervalFiles } from './interval-files.ts';
import { JobPages } from './job-pages.ts';
import { wholeBuckets } from './message-limit.ts';
import {
  type Findings,
  type IndependentCount,
  type ReaderOptions,
  type ReadingOrder,
  ResultReader,
  type SearchEnd,
} from './result-reader.ts';
import { type RowFigures, RowFilter } from './row-filter.ts';
import { digestSliceLength } from './slice-length.ts';

export interface MessageReaderOptions extends ReaderOptions {
  /** Number of rows according to an aggregation; undefined if not counted. */
  readonly countedRows: number | undefined;
}

/** Maximum number of times that the rows are read. */
const maxReadings = 5;

export class MessageReader extends ResultReader {
  readonly #options: MessageReaderOptions;
  /** Time range of the search job. It may begin before the interval. */
  readonly #range: TimeRange;
  readonly #pages: JobPages;
  #filter: RowFilter | undefined;
  #isReadInPart = false;
  #writtenFromMs: number | undefined;
  #counted: IndependentCount | undefined;
  #areBucketsUsed = false;
  #readings = 0;
  /** Result of the previous read. Undefined if there was no previous read, or if it did not read all rows. */
  #figuresBefore: RowFigures | undefined;

  constructor(options: MessageReaderOptions) {
    super();
    this.#options = options;
    this.#pages = new JobPages(options);
    this.#range = { fromMs: Math.min(options.job.order.fromMs, options.order.fromMs), toMs: options.order.toMs };
  }

  /** Result of the latest read. */
  get found(): Findings {
    const figures = this.#filter?.figures();
    return {
      figures,
      isReadAgain: this.#readings > 1,
      isReadTwice: figures !== undefined && haveSameRows(figures, this.#figuresBefore),
      isReadInPart: this.#isReadInPart,
      ...(this.#writtenFromMs === undefined ? {} : { writtenFromMs: this.#writtenFromMs }),
      ...(this.#counted === undefined ? {} : { counted: this.#counted }),
    };
  }

  /** Reads all rows into new files. */
  async read({ mayLeave, anyOrder }: ReadingOrder, end: SearchEnd): Promise<void> {
    if (this.#readings++ === maxReadings) throw unsteady();
    await this.giveUp();
    const { tools, order } = this.#options;
    const { identity } = tools.definition;
    this.#figuresBefore = this.#isReadInPart ? undefined : this.#filter?.figures();
    this.#pages.beginAgain();
    this.#isReadInPart = false;
    const writtenFromMs = mayLeave ? await this.#beginOf(end, this.#figuresBefore?.oldestMs) : undefined;
    this.#writtenFromMs = writtenFromMs;
    const duplicates = anyOrder ? new AnyOrder() : new InOrder();
    const { byReceiptTime } = identity;
    const { lengthMs: sliceMs } = digestSliceLength(identity);
    this.#filter = new RowFilter({ interval: this.#range, byReceiptTime, duplicates, writtenFromMs, sliceMs });
    this.files = new IntervalFiles(tools, order, tools.describedFields);
    await this.#readPages(this.#filter, this.files, end);
  }

  /** Stores the count from an aggregation. */
  override counts(counted: IndependentCount): void {
    this.#counted = counted;
  }

  /**
   * Returns the start of the time range whose rows are written if the service cut the search short. Older rows are left
   * to the next search.
   */
  async #beginOf(end: SearchEnd, oldestMs: number | undefined): Promise<number> {
    const { fromMs, toMs } = this.#options.order;
    const knownMs = oldestMs === undefined ? this.#knownBegin(end) : undefined;
    if (knownMs !== undefined) return knownMs;
    const { messageCount } = end.progress;
    if (messageCount === 0) return fromMs;
    const lastMs = oldestMs ?? (await this.#pages.lastMs(messageCount));
    // The result pages do not contain the oldest row, so `judge` will not accept the rows of this read.
    if (lastMs === undefined) return fromMs;
    return Math.max(fromMs, Math.min(lastMs + 1, toMs - 1));
  }

  /**
   * Returns the start of the time range whose row count is known from a histogram or an aggregation. If there is no
   * such range, returns the start of the interval if the job's range begins earlier, and otherwise undefined.
   */
  #knownBegin({ sign, progress, isDone }: SearchEnd): number | undefined {
    const { job, order, countedRows } = this.#options;
    // The search job's range may begin earlier than the interval.
    const wanted = this.#range.fromMs < order.fromMs ? order.fromMs : undefined;
    if (this.#areBucketsUsed || sign === undefined || !isDone) return wanted;
    this.#areBucketsUsed = true;
    const { toMs } = order;
    const whole = progress.hasLostStatus ? undefined : wholeBuckets(job.histogram(), this.#range);
    if (countedRows !== undefined && countedRows <= progress.messageCount) {
      this.#counted = { interval: { fromMs: order.fromMs, toMs }, rows: countedRows, source: 'Aggregate' };
    } else if (whole && whole.atMs >= order.fromMs) {
      this.#counted = { interval: { fromMs: whole.atMs, toMs }, rows: whole.rows, source: 'Histogram' };
    } else {
      return wanted;
    }
    this.#isReadInPart = true;
    return this.#counted.interval.fromMs;
  }

  async #readPages(filter: RowFilter, files: IntervalFiles, { progress }: SearchEnd): Promise<void> {
    const { messageCount } = progress;
    // Requests one row more than were counted. If the additional row is in the counted range, the count was too low.
    const wanted = this.#isReadInPart ? Math.min(messageCount, (this.#counted?.rows ?? 0) + 1) : messageCount;
    await this.#pages.readTo(wanted, filter, files.receiver(filter));
  }
}

/** Returns true if two reads found the same rows. */
function haveSameRows(figures: RowFigures, before: RowFigures | undefined): boolean {
  const { received, duplicates, outside, oldestMs } = figures;
  return (
    before?.received === received &&
    before.duplicates === duplicates &&
    before.outside === outside &&
    before.oldestMs === oldestMs
  );
}

function unsteady(): LogfleetError {
  const message = `logfleet read the result pages of a finished search job ${maxReadings} times, but got different rows each time.`;
  return failure('backoff', 'export.pagesUnsteady', message, { reason: 'ResultsMissing' });
}
