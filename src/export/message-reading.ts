/**
 * Reads the messages of one job for its interval, page by page, on the way into files: early while the search runs, where that is safe
 * (E7), and to the end once it is over; as often as the verdict asks for it (`proof.ts`), each time into new files.
 *
 * Invariant: of a job that was read, `found` tells what the pages had, with the files that this goes with.
 */
import { LogfleetError } from '../base/errors.ts';
import type { CommittedFile } from '../destination/commit-record.ts';
import type { JobProgress } from '../service/job-gathering.ts';
import type { SearchJob } from '../service/search-job.ts';
import { maxPageRows } from '../service/search-service.ts';
import { type Interval, wholeBuckets } from './cut.ts';
import { AnyOrder, InOrder } from './duplicates.ts';
import type { SearchOrder } from './export-decision.ts';
import { IntervalFiles } from './interval-files.ts';
import { IntervalRows } from './interval-rows.ts';
import { JobPages } from './job-pages.ts';
import type { Counted, Found, JobReading, Reading, SearchEnd } from './job-reading.ts';
import { type RunFigures, RunTally, type RunTallyOptions } from './run-tally.ts';
import type { SearchTools } from './search-tools.ts';
import { sliceMsOf } from './slice-counts.ts';

export interface MessageReadingOptions {
  readonly job: SearchJob;
  readonly order: SearchOrder;
  readonly tools: SearchTools;
  readonly signal: AbortSignal;
  /** Of the order's interval, where an aggregation has counted it before. */
  readonly countedRows: number | undefined;
}

/** So often a finished job is read at most. */
const mostReadings = 5;

export class MessageReading implements JobReading {
  readonly #options: MessageReadingOptions;
  /** What the job searches: the order's interval, or more. */
  readonly #range: Interval;
  readonly #pages: JobPages;
  #rows: IntervalRows | undefined;
  #isReadEarly = false;
  #isEarlyOver = false;
  #isReadInPart = false;
  #heldAreWritten = false;
  #writtenFromMs: number | undefined;
  #counted: Counted | undefined;
  #areBucketsUsed = false;
  #readings = 0;
  /** Of the reading before, where that was one of the finished job alone. */
  #figuresBefore: RunFigures | undefined;

  constructor(options: MessageReadingOptions) {
    this.#options = options;
    this.#pages = new JobPages(options);
    this.#range = { fromMs: Math.min(options.job.order.fromMs, options.order.fromMs), toMs: options.order.toMs };
  }

  /** What the pages had; nothing before the first reading. */
  get found(): Found {
    const figures = this.#readings === 0 ? undefined : this.#rows?.figures(this.#heldAreWritten);
    return {
      figures,
      isReadAgain: this.#readings > 1,
      isReadTwice: figures !== undefined && haveSameRows(figures, this.#figuresBefore),
      isReadEarly: this.#isReadEarly,
      isReadInPart: this.#isReadInPart,
      ...(this.#writtenFromMs === undefined ? {} : { writtenFromMs: this.#writtenFromMs }),
      ...(this.#counted === undefined ? {} : { counted: this.#counted }),
    };
  }

  /** Whether a whole page can be read of a search that runs: one that costs no request more. */
  mayReadEarly({ messageCount, errors, isTainted }: JobProgress): boolean {
    const { task, traits } = this.#options.tools;
    const isSafe = traits.readsEarly && task.isSplittable && !task.identity.byReceiptTime;
    const isWanted = errors.texts.length === 0 && !isTainted && !this.#isWider;
    return isSafe && isWanted && !this.#isEarlyOver && messageCount - this.#pages.offset >= maxPageRows;
  }

  /** Reads a page of a search that runs. */
  async readEarly(): Promise<void> {
    this.#isReadEarly = true;
    this.#rows ??= this.#newRows({ left: 'oldest', anyOrder: false });
    // A service that has no page yet, whatever it counts, is read when it is done.
    if (!(await this.#pages.read(this.#rows))) this.#isEarlyOver = true;
  }

  /** Reads what the verdict asks for, of a search that is over. */
  async read(reading: Reading, end: SearchEnd): Promise<void> {
    if (this.#readings++ === mostReadings) throw unsteady();
    if (this.#readings === 1 && this.#rows) {
      this.#useBucketsOnTheWay(reading, end, this.#rows);
      await this.#readOn(this.#rows, end);
    } else {
      if (this.#isReadEarly) this.#options.tools.traits.readsEarly = false;
      const isKnown = this.#isWider && !this.#isReadInPart;
      await this.#readAnew(reading, end, isKnown ? this.#rows?.oldestMs : undefined);
    }
    this.#heldAreWritten = end.sign === undefined;
    // What is in the files already is left after all.
    if (this.#rows?.isSpilled && !this.#heldAreWritten) await this.#readAnew(reading, end, this.#rows.oldestMs);
  }

  /** What the service counts of an interval. */
  counts(counted: Counted): void {
    this.#counted = counted;
  }

  /** The files with what was found, all staged. */
  async end(): Promise<readonly CommittedFile[]> {
    if (!this.#rows) return [];
    if (this.#heldAreWritten) this.#rows.writeHeld();
    return this.#rows.files.end();
  }

  /** Leaves no file behind. Never rejects. */
  async giveUp(): Promise<void> {
    await this.#rows?.files.giveUp();
  }

  /** The job searches more than the interval. */
  get #isWider(): boolean {
    return this.#range.fromMs < this.#options.order.fromMs;
  }

  async #readAnew(reading: Reading, end: SearchEnd, oldestMs: number | undefined): Promise<void> {
    await this.giveUp();
    const isWhole = !this.#isReadEarly && !this.#isReadInPart;
    this.#figuresBefore = isWhole ? this.#rows?.figures(false) : undefined;
    this.#pages.beginAgain();
    this.#isReadEarly = false;
    this.#isReadInPart = false;
    this.#writtenFromMs = undefined;
    const left = reading.mayLeave ? this.#leftOf(end, oldestMs) : 'nothing';
    this.#rows = this.#newRows({ left, anyOrder: reading.anyOrder });
    await this.#readOn(this.#rows, end);
  }

  /** From which moment on rows count, where that is known before they are read; `oldestMs` where they were read before. */
  #leftOf(end: SearchEnd, oldestMs: number | undefined): RunTallyOptions['left'] {
    const beforeMs =
      oldestMs === undefined ? this.#knownBegin(end) : Math.max(oldestMs + 1, this.#options.order.fromMs);
    if (beforeMs === undefined) return 'oldest';
    this.#writtenFromMs = beforeMs;
    return { beforeMs };
  }

  /** What buckets show may be too much for what was read early: then it is as without them. */
  #useBucketsOnTheWay({ mayLeave }: Reading, end: SearchEnd, rows: IntervalRows): void {
    if (!mayLeave) return;
    const beforeMs = this.#knownBegin(end, rows.oldestMs);
    if (beforeMs === undefined) return;
    rows.leaveBefore(beforeMs);
    this.#writtenFromMs = beforeMs;
  }

  /**
   * Where the part begins that is counted already, by whole buckets or by an aggregation, or that the order wants; undefined where neither
   * is known, or where rows before it were read.
   */
  #knownBegin({ sign, progress, isDone }: SearchEnd, readMs = Number.POSITIVE_INFINITY): number | undefined {
    const { job, order, countedRows } = this.#options;
    const wanted = this.#isWider ? order.fromMs : undefined;
    if (this.#areBucketsUsed || sign === undefined || !isDone) return wanted;
    this.#areBucketsUsed = true;
    const { toMs } = order;
    const whole = progress.isTainted ? undefined : wholeBuckets(job.histogram(), this.#range);
    if (countedRows !== undefined && countedRows <= progress.messageCount) {
      this.#counted = { interval: { fromMs: order.fromMs, toMs }, rows: countedRows, source: 'Aggregate' };
    } else if (whole && whole.atMs >= order.fromMs && whole.atMs <= readMs) {
      this.#counted = { interval: { fromMs: whole.atMs, toMs }, rows: whole.rows, source: 'Histogram' };
    } else {
      return wanted;
    }
    this.#isReadInPart = true;
    return this.#counted.interval.fromMs;
  }

  async #readOn(rows: IntervalRows, { progress }: SearchEnd): Promise<void> {
    const { messageCount } = progress;
    // What was counted may be older than the rows, or lack one: the next row shows whether there is one more.
    const wanted = this.#isReadInPart ? Math.min(messageCount, (this.#counted?.rows ?? 0) + 1) : messageCount;
    while (this.#pages.offset < wanted) if (!(await this.#pages.read(rows))) return;
  }

  #newRows({ left, anyOrder }: { left: RunTallyOptions['left']; anyOrder: boolean }): IntervalRows {
    const { tools, order } = this.#options;
    const { byReceiptTime } = tools.task.identity;
    const sliceMs = sliceMsOf(tools.task.identity);
    const duplicates = anyOrder ? new AnyOrder() : new InOrder();
    const tally = new RunTally({ interval: this.#range, byReceiptTime, duplicates, left, sliceMs });
    return new IntervalRows(tally, new IntervalFiles(tools, order, tools.describedFields));
  }
}

/** As far as figures tell; which rows of them are written may differ. */
function haveSameRows(figures: RunFigures, before: RunFigures | undefined): boolean {
  const { received, duplicates, outside, oldestMs } = figures;
  return (
    before?.received === received &&
    before.duplicates === duplicates &&
    before.outside === outside &&
    before.oldestMs === oldestMs
  );
}

function unsteady(): LogfleetError {
  return new LogfleetError({
    code: 'export.pagesUnsteady',
    message: `The pages of a finished search job were read ${mostReadings} times, and had other rows each time.`,
    handling: { kind: 'backoff' },
    reason: 'ResultsMissing',
  });
}
