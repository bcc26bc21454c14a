/**
 * Manages one search job from its creation to its end. Keeps the job alive, collects its errors and reads its results.
 *
 * ```text
 * created ── running ── done, or paused at the limit ─▶ finished ── closed
 *               │                                           │
 *               └── cancelled, lost, rejected ──────────────┴─────▶ ended, with its error
 * ```
 *
 * The caller that opens a job must close it.
 */
import { unlessAborted } from '../../base/aborted.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../../base/errors.ts';
import { doubledMs } from '../../base/retry-delay.ts';
import type { JobPermit } from '../budget/job-admission.ts';
import type { PageField } from '../pages/page-field.ts';
import type { CallResponse } from '../requests/call.ts';
import { endedIn, ServiceError } from '../requests/service-error.ts';
import { firstPollMs, nextPollMs } from './job-cadence.ts';
import { cancelledError, closedError, isFinal, isMissing, silencedError } from './job-end.ts';
import { JobGathering, type JobProgress, type MessageHistogram } from './job-gathering.ts';
import { JobPolls } from './job-polls.ts';
import { type PageRequest, type PageSource, readPage } from './page-reading.ts';
import {
  type JobOrder,
  type JobStatus,
  type MessagePage,
  maxPageRows,
  type OpenJob,
  type RecordPage,
  type RowReceiver,
} from './search-service.ts';

/** Maximum time in ms for which the service keeps a job that receives no requests (section 3.1 of docs/service.md). */
export const orphanLifeMs = 30_000;
/** Time in ms without a valid response after which the search job counts as lost. */
const longestSilenceMs = 60_000;
/** Maximum number of attempts to delete a search job. If all attempts fail, the job expires for lack of requests. */
const deletionTries = 3;
/**
 * Maximum number of attempts to delete a new job. It is higher than for an older job, because some replicas of the
 * service may not know a new job yet (section 10.2 of docs/service.md).
 */
const earlyDeletionTries = 6;
const deletionDelayMs = 500;
/** Minimum number of records to request per page. */
const minRecordLimit = 100;

export interface SearchJobOptions {
  readonly job: OpenJob;
  readonly order: JobOrder;
  readonly permit: JobPermit;
  readonly clock: Clock;
  /** Time at which the job was created, according to the service's clock. */
  readonly createdDateMs?: number | undefined;
  /** Called after each answered status request. An error that this function throws ends the job. */
  readonly onProgress?: ((progress: JobProgress) => void) | undefined;
}

/** Page of messages to read, and the receiver for its rows. */
export interface MessageReading extends PageRequest {
  readonly receiver: RowReceiver;
  /** Called when the page is complete. */
  readonly onPage?: (page: MessagePage) => void;
}

export interface RecordReading extends Omit<PageRequest, 'limit'> {
  /** Receives the records of the page. */
  readonly take: (page: RecordPage) => Promise<void> | undefined;
}

export class SearchJob {
  /**
   * Monotonic time in ms of the request that created the job. The service ends the job eight hours later (E13, section
   * 3.1 of docs/service.md).
   */
  readonly createdAtMs: number;
  /** Query and time range of the search job. */
  readonly order: JobOrder;
  readonly #options: SearchJobOptions;
  readonly #gathering: JobGathering;
  readonly #finished = Promise.withResolvers<JobProgress>();
  /** Signal that is aborted when the job ends. All further calls reject with its reason. */
  readonly #stop = new AbortController();
  readonly #polls: JobPolls;
  /** Monotonic time in ms at which logfleet learned that the search had ended. Undefined until then. */
  #doneAtMs: number | undefined;
  #end: LogfleetError | undefined;
  #deletion: Promise<void> = Promise.resolve();
  /** Number of records to request per page. Each response that is too large or too late halves the number. */
  #recordLimit = maxPageRows;

  constructor(options: SearchJobOptions) {
    this.#options = options;
    this.order = options.order;
    this.createdAtMs = options.job.heardAtMs;
    this.#gathering = new JobGathering(options.createdDateMs);
    this.#gathering.warn(options.job.warning);
    this.#polls = new JobPolls({
      ...options,
      onResponse: (response) => this.#take(response),
      onFailure: (error) => this.#failed(error),
    });
    // Prevents an unhandled rejection. The error is not lost, because all later calls reject with the same error.
    this.#finished.promise.catch(() => {});
  }

  get id(): string {
    return this.#options.job.id;
  }

  /** State of the job, according to the last response to a status request. */
  get progress(): JobProgress {
    return this.#gathering.progress();
  }

  /** Time in ms from the job's creation to the end of its search. Undefined until the search ends. */
  get tookMs(): number | undefined {
    return this.#doneAtMs === undefined ? undefined : this.#doneAtMs - this.createdAtMs;
  }

  /** Error that ended the search job. Undefined while the job is usable. */
  get end(): LogfleetError | undefined {
    return this.#end;
  }

  histogram(): MessageHistogram {
    return this.#gathering.histogram();
  }

  /**
   * Resolves when the search has finished and every status request sent before then has ended. Rejects with the
   * signal's reason, or with the error that ended the job.
   */
  whenFinished(signal?: AbortSignal): Promise<JobProgress> {
    const { promise } = this.#finished;
    return signal ? unlessAborted(signal, promise) : promise;
  }

  /**
   * Schedules the first status request for the expected end of the search.
   * @param expectedMs expected time in ms from the job's creation to the end of the search
   */
  expect(expectedMs: number | undefined): void {
    if (this.progress.statuses === 0) this.#polls.checkProgressAt(this.createdAtMs + firstPollMs(expectedMs));
  }

  /** Reads a page of messages (section 4.3 of docs/service.md). Resolves to the index after the last row. */
  readMessagePage({ receiver, onPage, ...request }: MessageReading): Promise<number> {
    let given = 0;
    const counting: RowReceiver = {
      row: (row) => {
        receiver.row(row);
        given++;
      },
      drained: () => receiver.drained?.(),
    };
    return this.#read(request, {
      fetch: async (query, signal) => {
        const { value } = await this.#options.job.listMessages(query, counting, { signal });
        this.#gathering.warn(value.warning);
        onPage?.(value);
        return value.rows;
      },
      given: () => given,
      drained: () => receiver.drained?.(),
    });
  }

  /**
   * Reads the descriptions of the message fields (section 2.4 of docs/service.md). Returns an empty list if the search
   * found no messages.
   */
  async describeFields(signal?: AbortSignal): Promise<readonly PageField[]> {
    let fields: readonly PageField[] = [];
    if (this.progress.messageCount === 0) return fields;
    await this.readMessagePage({
      offset: 0,
      limit: 1,
      signal,
      receiver: { row() {} },
      onPage: (page) => {
        fields = page.fields;
      },
    });
    return fields;
  }

  /**
   * Requests one record to check whether the query has an aggregation. If the query has none, the service rejects the
   * request (section 7.4 of docs/service.md).
   */
  async checkAggregation(signal?: AbortSignal): Promise<void> {
    await this.#read(
      { offset: 0, limit: 1, signal },
      {
        fetch: async (query, either) => {
          await this.#options.job.listRecords(query, { signal: either });
          return 1;
        },
      },
    );
  }

  /**
   * Reads a page of records of a finished job (section 4.4 of docs/service.md). Resolves to the index after the last
   * record. After a page that was too slow or too large, pages have half as many records.
   */
  readRecordPage({ take, ...request }: RecordReading): Promise<number> {
    return this.#read(request, {
      fetch: async ({ offset }, signal) => {
        const { value } = await this.#listRecords(offset, signal);
        this.#gathering.warn(value.warning);
        const taken = take(value);
        if (taken) await unlessAborted(signal, taken);
        return value.records.length;
      },
    });
  }

  async #listRecords(offset: number, signal: AbortSignal): Promise<CallResponse<RecordPage>> {
    const limit = this.#recordLimit;
    try {
      return await this.#options.job.listRecords({ offset, limit }, { signal });
    } catch (thrown) {
      if (endedIn(thrown, 'timeout', 'responseTooLarge'))
        this.#recordLimit = Math.max(minRecordLimit, Math.ceil(limit / 2));
      throw thrown;
    }
  }

  /**
   * Stops keeping the job alive and deletes it (section 4.5 of docs/service.md). Never rejects, because the job expires
   * even if it cannot be deleted.
   */
  close(): Promise<void> {
    if (!this.#end) {
      this.#stopWith(closedError(this.id));
      this.#deletion = this.#delete();
    }
    return this.#deletion;
  }

  async #delete(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#options.job.delete();
        this.#options.permit.end();
        return;
      } catch (thrown) {
        const { handling } = asLogfleetError(thrown);
        const maxTries = endedIn(thrown, 'jobNotKnownYet') ? earlyDeletionTries : deletionTries;
        if (handling.kind === 'stall' || handling.kind === 'bug' || tries >= maxTries) {
          this.#endPermitLater();
          return;
        }
        await sleep(this.#options.clock, doubledMs(deletionDelayMs, tries - 1));
      }
    }
  }

  async #read(request: PageRequest, source: PageSource): Promise<number> {
    const stop = this.#stop.signal;
    stop.throwIfAborted();
    const signal = request.signal ? AbortSignal.any([request.signal, stop]) : stop;
    try {
      return await readPage(source, { ...request, clock: this.#options.clock, signal });
    } catch (error) {
      stop.throwIfAborted();
      throw error;
    }
  }

  #take(response: CallResponse<JobStatus>): void {
    const isNewest = this.#gathering.take(response);
    const { progress } = this;
    if (progress.state === 'cancelled') this.#endedWith(cancelledError(this.id));
    else if (isDone(progress)) this.#doneAtMs ??= this.#options.clock.monotonic();
    if (this.#doneAtMs !== undefined) this.#polls.checkProgressAt(Number.POSITIVE_INFINITY);
    else if (isNewest) this.#polls.checkProgressAt(this.#nextPollMs(response.sentAtMs));
    this.#finish();
    try {
      this.#options.onProgress?.(progress);
    } catch (thrown) {
      if (this.#end) return;
      this.#stopWith(asLogfleetError(thrown), thrown);
      this.#deletion = this.#delete();
    }
  }

  #failed(error: LogfleetError): void {
    if (error instanceof ServiceError && error.effect === 'unknown') this.#gathering.lost();
    const silentMs = this.#options.clock.monotonic() - this.#options.job.heardAtMs;
    // A missing cookie may be a temporary error, so the job ends only if the service has not accepted a request for a
    // long time.
    const isCookieOver = endedIn(error, 'jobCookieMissing') && silentMs >= orphanLifeMs;
    if (isFinal(error) || isCookieOver) this.#endedWith(error);
    else if (silentMs >= longestSilenceMs) {
      this.#endedWith(error.reason === 'ResponseInvalid' ? error : silencedError(this.id, silentMs, error));
    }
    this.#finish();
  }

  /**
   * Marks the search as finished once all earlier status requests have ended, because their responses may contain
   * errors (E5).
   */
  #finish(): void {
    if (this.#doneAtMs !== undefined && this.#polls.oldestSentMs > this.#doneAtMs)
      this.#finished.resolve(this.progress);
  }

  #nextPollMs(sentAtMs: number): number {
    const { idleAtMs = this.createdAtMs } = this.#gathering;
    const progress = {
      elapsedMs: sentAtMs - this.createdAtMs,
      searchingMs: sentAtMs - idleAtMs,
      doneShare: this.#gathering.doneShare(this.order),
      statuses: this.progress.statuses,
    };
    return sentAtMs + nextPollMs(progress);
  }

  #endedWith(error: LogfleetError): void {
    if (this.#end) return;
    this.#stopWith(error);
    // A search job that is unknown to the service is not active, so another search job may start immediately.
    if (isMissing(error)) this.#options.permit.end();
    else if (error.handling.kind === 'bug') this.#deletion = this.#delete();
    else this.#endPermitLater();
  }

  /** Stops all requests for the job. Pending calls reject with `reason`. */
  #stopWith(error: LogfleetError, reason: unknown = error): void {
    this.#end = error;
    this.#stop.abort(reason);
    this.#finished.reject(reason);
    this.#polls.stop();
  }

  #endPermitLater(): void {
    this.#options.clock.after(orphanLifeMs, () => this.#options.permit.end());
  }
}

function isDone({ state }: JobProgress): boolean {
  return state === 'doneGatheringResults' || state === 'forcePaused';
}
