/**
 * Searches one interval, from creating its search job to writing its commit record. `judge` in `search-verdict.ts`
 * decides each step. At the end, all search jobs are closed, and files without a commit record are removed (E3).
 */

import { assert } from '../../base/assert.ts';
import { crossing } from '../../base/boundary.ts';
import { sleep } from '../../base/clock.ts';
import { asLogfleetError, mayPass } from '../../base/errors.ts';
import { doubledMs } from '../../base/retry-delay.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { type CommitRecord, type CommitResult, commit } from '../../destination/commit-record.ts';
import type { JobProgress, MessageHistogram } from '../../service/jobs/job-gathering.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import { searchDense } from './dense-millisecond.ts';
import { countInterval } from './interval-count.ts';
import { JobSet } from './job-set.ts';
import { type CutSign, cutSign, rowsFound } from './message-limit.ts';
import { MessageReader } from './message-reader.ts';
import { RecordReader } from './record-reader.ts';
import type { ResultReader, SearchEnd } from './result-reader.ts';
import type { JobView, OpenedJob, RunningSearch, SearchOrder, SearchResult, SearchTools } from './search-tools.ts';
import {
  judge,
  type RecordFigures,
  type SearchFacts,
  searchesAgain,
  showsInclusiveEnd,
  type Verdict,
} from './search-verdict.ts';
import type { BegunSearch } from './service-quirks.ts';
import { settlingMs } from './settling.ts';

/** Maximum number of attempts to write a commit record. If all attempts fail, the interval must be searched again. */
const commitTries = 6;
const firstCommitDelayMs = 1_000;
const tooNew =
  "the interval cannot be searched yet, because its end is not yet older than settleDelay according to the service's clock";

/** A search job that has ended, with the data that `judge` needs. */
interface Judged {
  readonly job: SearchJob;
  readonly reading: ResultReader;
  readonly end: SearchEnd;
  /** Errors that the aggregation reported while it counted the rows. */
  errors: readonly string[];
}

/** Uploaded files that a commit record will list. */
type Staging = Pick<ResultReader, 'end' | 'giveUp'>;

export class IntervalSearch implements RunningSearch {
  readonly segment: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly begunAtMs: number;
  isSearching = true;
  /** Result of the search. The promise never rejects. */
  readonly done: Promise<SearchResult>;
  readonly #order: SearchOrder;
  readonly #tools: SearchTools;
  readonly #opened: OpenedJob | undefined;
  readonly #jobs: JobSet;
  /**
   * Maximum time in ms by which the service's clock was expected to be behind logfleet's clock when the search began.
   */
  readonly #foreseenBehindMs: number;
  readonly #stop = new AbortController();
  readonly #cutShort = Promise.withResolvers<void>();
  #job: SearchJob | undefined;
  /** Registration of this search (`ServiceQuirks.begins`). Undefined if planning created the search job. */
  #begun: BegunSearch | undefined;
  #reading: Staging | undefined;
  /** True if a stored commit record may list the files of this search. In that case, the files must not be removed. */
  #areFilesNamed = false;

  constructor(order: SearchOrder, tools: SearchTools, opened?: OpenedJob) {
    const { segment, fromMs, toMs } = order;
    this.segment = segment;
    this.fromMs = fromMs;
    this.toMs = toMs;
    this.begunAtMs = tools.clock.monotonic();
    this.#order = { segment, fromMs, toMs };
    this.#tools = tools;
    this.#foreseenBehindMs = tools.quirks.foreseenBehindMs;
    this.#opened = opened;
    const { signal } = this.#stop;
    this.#jobs = new JobSet({ ...tools, signal });
    this.done = this.#run();
  }

  get createdAtMs(): number | undefined {
    return this.#job?.createdAtMs;
  }

  /** Number of rows found so far. */
  get messageCount(): number {
    const { progress } = this.#job ?? {};
    return progress ? rowsFound(progress, this.#tools.definition.identity.results) : 0;
  }

  /** Bytes scanned by all jobs of this search. */
  get scannedBytes(): number {
    return this.#jobs.scannedBytes;
  }

  /** Open search jobs, as shown in the status. */
  get jobs(): readonly JobView[] {
    return this.#jobs.views;
  }

  /** Returns the number of rows found in each period, or undefined until the service has reported these numbers. */
  histogram(): MessageHistogram | undefined {
    return this.#job?.histogram();
  }

  /** Ends the search, unless its commit record is already being written. */
  stop(): void {
    this.#stop.abort(new DOMException('The search was stopped.', 'AbortError'));
  }

  /** Ends the search job before the service does so after eight hours, and commits the rows found so far (E13). */
  endAsCut(): void {
    // A search job that has already found all rows is not ended early, because its errors must still be read (E5).
    if (this.#job?.progress.state === 'doneGatheringResults') return;
    this.#cutShort.resolve();
  }

  async #run(): Promise<SearchResult> {
    try {
      const job = await this.#open();
      this.#job = job;
      if (!this.#opened && !this.#isSettled()) return this.#again(false, tooNew);
      const reading = this.#readingOf(job);
      this.#reading = reading;
      const end = await this.#search(job);
      return await this.#conclude({ job, reading, end, errors: [] });
    } catch (thrown) {
      if (this.#stop.signal.aborted) return { kind: 'stopped' };
      return { kind: 'failed', error: asLogfleetError(thrown) };
    } finally {
      this.isSearching = false;
      this.#begun?.ends();
      await Promise.all([this.#areFilesNamed ? undefined : this.#reading?.giveUp(), this.#jobs.closeAll()]);
    }
  }

  async #open(): Promise<SearchJob> {
    if (this.#opened) {
      this.#jobs.add(this.#opened.job, 'Rows');
      return this.#opened.job;
    }
    const { definition, quirks } = this.#tools;
    const begun = quirks.begins();
    this.#begun = begun;
    const order = definition.order(this.#order, quirks.isEndInclusive);
    const job = await this.#jobs.open(order, 'Rows', { expectedMs: begun.expectedMs });
    begun.shown?.then(() => job.expect(quirks.searchMs));
    return job;
  }

  /** True if the interval is old enough to be searched, according to the service's clock (E11). */
  #isSettled(): boolean {
    const { quirks, clock, settleDelayMs } = this.#tools;
    const { clockBehindMs } = quirks;
    const settledMs = clock.now() - settlingMs(settleDelayMs(), clockBehindMs);
    return clockBehindMs <= this.#foreseenBehindMs || this.toMs <= settledMs;
  }

  #readingOf(job: SearchJob): ResultReader {
    const options = { job, order: this.#order, tools: this.#tools, signal: this.#stop.signal };
    if (this.#tools.definition.identity.results === 'Records') return new RecordReader(options);
    return new MessageReader({ ...options, countedRows: this.#opened?.countedRows });
  }

  /** Waits until the search job ends, or until logfleet ends it early. */
  async #search(job: SearchJob): Promise<SearchEnd> {
    const { quirks } = this.#tools;
    const finishing = job.whenFinished(this.#stop.signal);
    const finished = await Promise.race([finishing, this.#cutShort.promise.then(() => undefined)]);
    finishing.catch(() => {});
    // If the job's range is longer than this interval, the job's duration is not stored, because it does not show how
    // long shorter searches take.
    if (finished && job.tookMs !== undefined && job.order.fromMs === this.fromMs)
      quirks.took(job.tookMs, finished.statuses);
    this.#begun?.ends();
    this.isSearching = false;
    this.#tools.onProgress();
    const progress = finished ?? job.progress;
    const sign = this.#signOf(job, progress);
    // The message limit does not apply to aggregation records (section 8 of docs/service.md).
    if (this.#tools.definition.identity.results === 'Messages') quirks.searched(progress);
    return { progress, sign, isDone: finished !== undefined };
  }

  #signOf(job: SearchJob, progress: JobProgress): CutSign | undefined {
    const { definition, quirks } = this.#tools;
    const sign = cutSign(progress, quirks.smallestLimit, definition.identity.results);
    return sign ?? (job.order.fromMs < this.fromMs ? 'beyondInterval' : undefined);
  }

  async #conclude(judged: Judged): Promise<SearchResult> {
    for (;;) {
      const run = this.#runOf(judged);
      const verdict = judge(run);
      if (showsInclusiveEnd(run)) this.#tools.quirks.isEndInclusive = true;
      switch (verdict.kind) {
        case 'read':
          await judged.reading.read(verdict, judged.end);
          break;
        case 'count':
          await this.#count(judged, verdict.interval);
          break;
        default:
          return this.#follow(judged, verdict);
      }
    }
  }

  #runOf({ job, reading, end, errors }: Judged): SearchFacts {
    const { definition } = this.#tools;
    const { results, byReceiptTime } = definition.identity;
    const { progress, sign } = end;
    return {
      interval: { fromMs: Math.min(job.order.fromMs, this.fromMs), toMs: this.toMs },
      results,
      byReceiptTime,
      isSplittable: definition.isSplittable,
      isEndMoved: job.order.toMs < this.toMs,
      sign,
      jobCount: rowsFound(progress, results),
      // Uses the job's current progress, because more errors may have been reported while pages were being read.
      pendingErrors: [...job.progress.errors, ...errors],
      hasLostStatus: end.isDone ? progress.hasLostStatus : job.progress.hasLostStatus,
      keepsIncomplete: this.#tools.incompletePolicy() === 'Keep',
      failedBefore: this.#tools.failedBefore(this.#order),
      ...reading.found,
    };
  }

  async #count(judged: Judged, interval: TimeRange): Promise<void> {
    const { definition, quirks } = this.#tools;
    // All rows of the job have been read, so the job can be closed while an aggregation counts the rows.
    const closing = this.#jobs.close(judged.job);
    const order = definition.order(interval, quirks.isEndInclusive);
    const count = await countInterval(order, this.#jobs);
    if (count.kind === 'counted') judged.reading.counts({ interval, rows: count.rows, source: 'Aggregate' });
    else judged.errors = count.errors;
    await closing;
  }

  async #follow(judged: Judged, verdict: Exclude<Verdict, { kind: 'read' | 'count' }>): Promise<SearchResult> {
    const { segment, fromMs, toMs } = this.#order;
    switch (verdict.kind) {
      case 'commit':
        return this.#commit(judged.job, judged.reading, verdict.record);
      case 'searchAgain':
        return this.#again(verdict.isFailure, verdict.message);
      case 'endsInclusive':
        return this.#again(false, 'the service includes the end of a time range, although the end is exclusive');
      case 'bisect':
        if (verdict.atMs <= fromMs)
          return this.#again(false, 'the service cut the search short before the search reached the interval');
        return { kind: 'narrowed', order: { segment, fromMs: verdict.atMs, toMs } };
      case 'dense':
        return this.#searchDense(judged, verdict);
      case 'incomplete':
        return this.#incomplete(judged, verdict);
    }
  }

  /**
   * Searches a millisecond with too many rows. Divides the rows by the last digits of their message ids, and commits
   * them.
   */
  async #searchDense(judged: Judged, verdict: Extract<Verdict, { kind: 'dense' }>): Promise<SearchResult> {
    const { fromMs, count } = verdict.record;
    // Searches by the last digits of message ids may scan many bytes, so the limit on scanned bytes is checked first.
    if (this.#tools.isScanLimitReached()) this.stop();
    this.#stop.signal.throwIfAborted();
    const closing = this.#jobs.close(judged.job);
    const dense = { atMs: fromMs, rows: count.rows, order: this.#order };
    const options = { tools: this.#tools, jobs: this.#jobs, signal: this.#stop.signal };
    this.isSearching = true;
    const result = await searchDense(dense, options);
    this.isSearching = false;
    await closing;
    if (result.kind === 'found') {
      await this.#reading?.giveUp();
      this.#reading = result.files;
      return this.#commit(judged.job, result.files, result.record);
    }
    const message = `${verdict.message}; ${result.message}`;
    const mayRepeat =
      result.kind === 'again' && !(result.isFailure && this.#tools.failedBefore(this.#order) >= searchesAgain);
    if (mayRepeat) return this.#again(result.isFailure, message);
    return this.#incomplete(judged, { ...verdict, reason: 'MillisecondTooDense', message });
  }

  #again(isFailure: boolean, message: string): SearchResult {
    this.#tools.log.info('an interval is searched again', { ...this.#order, message });
    return { kind: 'again', isFailure, message };
  }

  async #incomplete(
    judged: Judged,
    { record, reason, message }: Pick<Extract<Verdict, { kind: 'incomplete' }>, 'record' | 'reason' | 'message'>,
  ): Promise<SearchResult> {
    if (record && this.#tools.incompletePolicy() === 'Keep') return this.#commit(judged.job, judged.reading, record);
    const figures = record && { received: record.received, expected: record.count.rows };
    return { kind: 'incomplete', reason, message, figures };
  }

  /** Completes the files, and then writes the commit record (E3). Meanwhile, closes the search job. */
  async #commit(job: SearchJob, staging: Staging, figures: RecordFigures): Promise<SearchResult> {
    const { signal } = this.#stop;
    const closing = this.#jobs.close(job);
    const giveUp = () => void staging.giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    const files = await staging.end();
    signal.removeEventListener('abort', giveUp);
    signal.throwIfAborted();
    assert(figures.fromMs >= this.fromMs, 'a commit record extends beyond its interval');
    const record: CommitRecord = { ...figures, segment: this.segment, files };
    const result = await crossing('export.commit', () => this.#write(record));
    await closing;
    return result.kind === 'committed' ? { kind: 'committed', record } : result;
  }

  async #write(record: CommitRecord): Promise<CommitResult> {
    const { destination, definition, clock } = this.#tools;
    this.#areFilesNamed = true;
    for (let tries = 1; ; tries++) {
      try {
        return await commit(destination, definition.layout, record);
      } catch (thrown) {
        const isLasting = !mayPass(asLogfleetError(thrown));
        // Reads the commit record, because the destination may have stored it although the write failed.
        if (isLasting && tries === 1) this.#areFilesNamed = await this.#mayExist(record);
        if (isLasting || tries === commitTries) throw thrown;
        await sleep(clock, doubledMs(firstCommitDelayMs, tries - 1), this.#stop.signal);
      }
    }
  }

  async #mayExist({ segment, toMs }: CommitRecord): Promise<boolean> {
    const { destination, definition } = this.#tools;
    try {
      return (await destination.read(definition.layout.commit(segment, toMs))) !== undefined;
    } catch {
      return true;
    }
  }
}
