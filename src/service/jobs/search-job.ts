/**
 * One search job from its creation to its end. Status requests keep the job alive and show the end of its search
 * (`job-polls.ts`). Their answers are collected (`job-gathering.ts`), and the results of the job are read page by page
 * (`page-reading.ts`).
 *
 * ```text
 * created ── running ── done, or paused at the limit ─▶ finished ── closed
 *               │                                           │
 *               └── cancelled, lost, rejected ──────────────┴─────▶ ended, with its error
 * ```
 *
 * Invariant: no status is requested after the job is closed or ended. Its permit is kept as long as the service may
 * count the job. The caller that opened a job must close it in any case. A job that ends because of a bug is deleted
 * immediately.
 */

import { type Clock, sleep } from '../../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../../base/errors.ts';
import { doubledMs } from '../../base/retry-delay.ts';
import type { JobPermit } from '../budget/job-admission.ts';
import type { PageField } from '../pages/page-field.ts';
import type { Answer } from '../requests/call.ts';
import { endedIn, ServiceError } from '../requests/service-error.ts';
import { firstPollMs, nextPollMs } from './job-cadence.ts';
import { cancelledError, closedError, isFinal, isMissing, silencedError, uncountedError } from './job-end.ts';
import type { MessageHistogram } from './job-gathering.ts';
import { JobGathering, type JobProgress } from './job-gathering.ts';
import { JobPolls } from './job-polls.ts';
import { readPages } from './page-reading.ts';
import type {
  JobOrder,
  JobStatus,
  MessagePage,
  OpenJob,
  PageQuery,
  RecordPage,
  RowReceiver,
} from './search-service.ts';

/**
 * Time in ms without requests after which the service has certainly cancelled a search job (3.1). Until then the service may count the job
 * as active.
 */
export const orphanLifeMs = 30_000;
/** Time in ms without any valid answer of the service after which a search job counts as lost. */
const longestSilenceMs = 60_000;
/**
 * Maximum number of attempts to delete a search job. After the last one, the job expires because no
 * requests arrive for it.
 */
const deletionTries = 3;
/**
 * Maximum number of attempts to delete a search job while some replicas of the service may not know the job yet (10.2).
 * Because of the delays between attempts, all replicas know the job at the last attempt.
 */
const earlyDeletionTries = 6;
const deletionDelayMs = 500;

export interface SearchJobOptions {
  readonly job: OpenJob;
  readonly order: JobOrder;
  readonly permit: JobPermit;
  readonly clock: Clock;
  /** Service time of the answer that created the job, see `Answer.dateMs`. */
  readonly createdDateMs?: number | undefined;
  /** Expected duration of the search in ms, see `OpenOptions`. */
  readonly expectedMs?: number | undefined;
  /**
   * Called after each answered status request of the job. An error that the function throws ends
   * the job and rejects all its pending calls.
   */
  readonly onProgress?: ((progress: JobProgress) => void) | undefined;
}

/** Range of rows to read from a search job's results. */
interface PageRange {
  /** Index of the first row to read, from 0. */
  readonly offset: number;
  /**
   * Number of rows up to which to read, including the rows before `offset`; by default, the number
   * in the latest status.
   */
  readonly total?: number | undefined;
  /** Maximum number of rows on a page; a full page by default. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Range of messages to read, and the receiver of their rows. */
export interface MessageReading extends PageRange {
  readonly receiver: RowReceiver;
  /** Called after each complete page of messages, with the index of its first row. */
  readonly onPage?: (page: MessagePage, offset: number) => void;
}

export interface RecordReading extends Omit<PageRange, 'limit'> {
  /**
   * Receives the records of one page. If a promise is returned, the next page is requested after it
   * is fulfilled.
   */
  readonly take: (page: RecordPage, offset: number) => Promise<void> | undefined;
}

export class SearchJob {
  /**
   * Monotonic time in ms at which the request to create the job was sent. The service ends the job
   * eight hours later (3.1, E13).
   */
  readonly createdAtMs: number;
  readonly #job: OpenJob;
  readonly #order: JobOrder;
  readonly #permit: JobPermit;
  readonly #clock: Clock;
  readonly #onProgress: (progress: JobProgress) => void;
  readonly #gathering: JobGathering;
  /** Signal that is aborted when the job is closed or has ended. */
  readonly #stop = new AbortController();
  readonly #polls: JobPolls;
  /** Time at which a status of the job first showed that the search had ended. */
  #doneAtMs: number | undefined;
  #finished: JobProgress | undefined;
  #end: LogfleetError | undefined;
  /** Error that the caller's `onProgress` function has thrown. */
  #thrown: { readonly value: unknown } | undefined;
  #closing: Promise<void> | undefined;
  #waiting: (() => void)[] = [];

  constructor(options: SearchJobOptions) {
    this.#job = options.job;
    this.#order = options.order;
    this.#permit = options.permit;
    this.#clock = options.clock;
    this.#onProgress = options.onProgress ?? (() => {});
    this.createdAtMs = options.job.heardAtMs;
    this.#gathering = new JobGathering(options.createdDateMs);
    this.#gathering.warn(options.job.warning);
    this.#polls = new JobPolls({
      job: options.job,
      clock: options.clock,
      expectedMs: options.expectedMs,
      onAnswer: (answer) => this.#take(answer),
      onFailure: (error) => this.#failed(error),
    });
  }

  get id(): string {
    return this.#job.id;
  }

  /** Order with which the search job was created. */
  get order(): JobOrder {
    return this.#order;
  }

  /** State of the search job according to the latest answered status. */
  get progress(): JobProgress {
    return this.#gathering.progress();
  }

  /** Error that ended the search job; undefined while the job is usable. */
  get end(): LogfleetError | undefined {
    return this.#end;
  }

  /** Histogram over time of the messages that the search job has found so far. */
  histogram(): MessageHistogram {
    return this.#gathering.histogram();
  }

  /**
   * Resolves when the service has finished the search (DONE GATHERING RESULTS or FORCE PAUSED) and every earlier status request is
   * answered or lost. Rejects with `end` if the job is lost, or with the signal's reason.
   */
  async whenFinished(signal?: AbortSignal): Promise<JobProgress> {
    while (!this.#finished) {
      signal?.throwIfAborted();
      this.#throwIfOver();
      await this.#news(signal);
    }
    return this.#finished;
  }

  /**
   * Moves the first status request to the expected end of the search (see `OpenOptions`). No effect after the first answered
   * status.
   */
  expect(expectedMs: number | undefined): void {
    if (this.progress.statuses === 0) this.#polls.checkProgressAt(this.createdAtMs + firstPollMs(expectedMs));
  }

  /**
   * Reads messages of the search job (4.3). Resolves to the index after the last row, see
   * `readPages`.
   */
  async readMessages(reading: MessageReading): Promise<number> {
    const { receiver, onPage } = reading;
    let given = 0;
    const counting: RowReceiver = {
      row: (row) => {
        receiver.row(row);
        given++;
      },
      drained: () => receiver.drained?.(),
    };
    return this.#read(reading, this.progress.messageCount, (signal) => ({
      fetch: async (query) => {
        given = 0;
        const { value } = await this.#job.listMessages(query, counting, { signal });
        this.#gathering.warn(value.warning);
        onPage?.(value, query.offset);
        return value.rows;
      },
      given: () => given,
      drained: () => receiver.drained?.(),
    }));
  }

  /** Reads the service's description of the message fields (2.4) from a page with one message. Empty if there is no message. */
  describeFields(signal?: AbortSignal): Promise<readonly PageField[]> {
    const total = Math.min(1, this.progress.messageCount);
    return this.#describe(total, signal, async (query, either) => {
      const { value } = await this.#job.listMessages(query, { row() {} }, { signal: either });
      return value;
    });
  }

  /**
   * Reads the service's description of the record fields (2.6), even if there are no records. Rejects if the query has no
   * aggregation (7.4).
   */
  describeRecords(signal?: AbortSignal): Promise<readonly PageField[]> {
    return this.#describe(1, signal, async (query, either) => {
      const { value } = await this.#job.listRecords(query, { signal: either });
      return { fields: value.fields, rows: 1 };
    });
  }

  /**
   * Reads records (4.4) of a finished job. Records of an unfinished job may be wrong (10.3). Resolves to the offset after the last
   * record.
   */
  async readRecords(reading: RecordReading): Promise<number> {
    const total = reading.total ?? this.progress.recordCount;
    if (total === undefined) throw uncountedError(this.id);
    let taking: Promise<void> | undefined;
    const end = await this.#read(reading, total, (signal) => ({
      fetch: async (query) => {
        const { value } = await this.#job.listRecords(query, { signal });
        this.#gathering.warn(value.warning);
        const taken = reading.take(value, query.offset) || undefined;
        taking = taken;
        // The error of this promise is reported when the promise is awaited later.
        taken?.then(
          () => {
            if (taking === taken) taking = undefined;
          },
          () => {},
        );
        return value.records.length;
      },
      drained: () => taking,
    }));
    await taking;
    return end;
  }

  /** Reads the field descriptions from a page of results with at most one row. */
  async #describe(
    total: number,
    signal: AbortSignal | undefined,
    fetch: (query: PageQuery, signal: AbortSignal) => Promise<Pick<MessagePage, 'fields' | 'rows'>>,
  ): Promise<readonly PageField[]> {
    let fields: readonly PageField[] = [];
    await this.#read({ offset: 0, total, limit: 1, signal }, total, (either) => ({
      fetch: async (query) => {
        const page = await fetch(query, either);
        fields = page.fields;
        return page.rows;
      },
    }));
    return fields;
  }

  /**
   * Closes the job and deletes it at the service (4.5). Never rejects, because a job that cannot be
   * deleted expires after 30 s without requests.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#end) return;
    this.#end = closedError(this.id);
    this.#over();
    await this.#leave();
  }

  async #leave(): Promise<void> {
    if (await this.#delete()) this.#permit.end();
    else this.#endPermitLater();
  }

  async #delete(): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#job.delete();
        return true;
      } catch (thrown) {
        const { handling } = asLogfleetError(thrown);
        const mostTries = endedIn(thrown, 'jobNotKnownYet') ? earlyDeletionTries : deletionTries;
        if (handling.kind === 'stall' || handling.kind === 'bug' || tries >= mostTries) return false;
        await sleep(this.#clock, doubledMs(deletionDelayMs, tries - 1));
      }
    }
  }

  async #read(
    { offset, total, limit, signal }: PageRange,
    counted: number,
    sourceWith: (signal: AbortSignal) => Parameters<typeof readPages>[0],
  ): Promise<number> {
    this.#throwIfOver();
    const either = signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal;
    try {
      return await readPages(sourceWith(either), {
        clock: this.#clock,
        signal: either,
        offset,
        limit,
        total: total ?? counted,
      });
    } catch (error) {
      this.#throwIfOver();
      throw error;
    }
  }

  #take(answer: Answer<JobStatus>): void {
    const isNewest = this.#gathering.take(answer);
    const { progress } = this;
    if (progress.state === 'cancelled') this.#ended(cancelledError(this.id));
    else if (isDone(progress)) this.#doneAtMs ??= this.#clock.monotonic();
    if (this.#doneAtMs !== undefined) this.#polls.checkProgressAt(Number.POSITIVE_INFINITY);
    else if (isNewest) this.#polls.checkProgressAt(this.#nextPollMs(answer.sentAtMs));
    this.#finish();
    try {
      this.#onProgress(progress);
    } catch (thrown) {
      this.#thrown ??= { value: thrown };
      this.#ended(asLogfleetError(thrown));
    }
    this.#tell();
  }

  #failed(error: LogfleetError): void {
    if (error instanceof ServiceError && error.effect === 'unknown') this.#gathering.lost();
    const silentMs = this.#clock.monotonic() - this.#job.heardAtMs;
    // An answer that rejects the job's cookie may be temporary. So the job counts as ended only
    // after a time without any accepted request, in which the service must have cancelled it.
    const isCookieOver = endedIn(error, 'jobCookieMissing') && silentMs >= orphanLifeMs;
    if (isFinal(error) || isCookieOver) this.#ended(error);
    else if (silentMs >= longestSilenceMs) {
      this.#ended(error.reason === 'AnswerInvalid' ? error : silencedError(this.id, silentMs, error));
    }
    this.#finish();
  }

  /** Finishes the search after all earlier status requests are answered, because their answers may contain errors (E5). */
  #finish(): void {
    if (this.#finished || this.#end || this.#doneAtMs === undefined) return;
    if (this.#polls.oldestSentMs <= this.#doneAtMs) return;
    this.#finished = this.progress;
    this.#tell();
  }

  #nextPollMs(sentAtMs: number): number {
    const { idleAtMs = this.createdAtMs } = this.#gathering;
    const progress = {
      elapsedMs: sentAtMs - this.createdAtMs,
      searchingMs: sentAtMs - idleAtMs,
      doneShare: this.#gathering.doneShare(this.#order),
      statuses: this.progress.statuses,
    };
    return sentAtMs + nextPollMs(progress);
  }

  #ended(error: LogfleetError): void {
    if (this.#end) return;
    this.#end = error;
    this.#over();
    // The permit for the job ends immediately if the service does not know the job. In all other
    // cases, the service may still count the job as active.
    if (isMissing(error)) this.#permit.end();
    else if (error.handling.kind === 'bug' || this.#thrown) this.#closing ??= this.#leave();
    else this.#endPermitLater();
  }

  #over(): void {
    this.#stop.abort(this.#end);
    this.#polls.stop();
    this.#tell();
  }

  #endPermitLater(): void {
    this.#clock.after(orphanLifeMs, () => this.#permit.end());
  }

  #throwIfOver(): void {
    if (this.#thrown) throw this.#thrown.value;
    if (this.#end) throw this.#end;
  }

  #news(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        signal?.removeEventListener('abort', done);
        resolve();
      };
      signal?.addEventListener('abort', done, { once: true });
      this.#waiting.push(done);
    });
  }

  #tell(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

function isDone({ state }: JobProgress): boolean {
  return state === 'doneGatheringResults' || state === 'forcePaused';
}
