/**
 * One search job from its creation to its end: asked for its status (`job-polls.ts`), so that it stays alive and its end is seen soon;
 * what the statuses bring is gathered (`job-gathering.ts`); its results are read page by page (`page-reading.ts`).
 *
 * ```text
 * created ── running ── done, or paused at the limit ─▶ finished ── closed
 *               │                                           │
 *               └── cancelled, lost, refused for good ──────┴─────▶ ended, with its reason
 * ```
 *
 * Invariant: no status is asked for once the job is closed or has ended; its permit is held for as long as the service may count the
 * job. Whoever opened a job closes it, whatever came of it; what ends by a bug of ours is deleted at once.
 */
import { type Clock, sleep } from '../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../base/errors.ts';
import type { JobPermit } from './job-admission.ts';
import { firstLookMs, nextLookMs } from './job-cadence.ts';
import {
  cancelledError,
  closedError,
  cookieMissingCode,
  isFinal,
  isMissing,
  notKnownYetCode,
  silencedError,
  uncountedError,
} from './job-end.ts';
import { JobGathering, type JobProgress } from './job-gathering.ts';
import type { Histogram } from './job-histogram.ts';
import { JobPolls } from './job-polls.ts';
import type { PageField } from './page-field.ts';
import { readPages } from './page-reading.ts';
import type { PageRows } from './page-row.ts';
import type { JobOrder, JobStatus, MessagePage, OpenJob, RecordPage, RowReceiver } from './search-service.ts';
import { ServiceError } from './service-error.ts';
import type { Answer } from './upgrade-service.ts';

/** An orphan job is cancelled after so much silence (3.1); until then it counts as active. */
export const orphanLifeMs = 30_000;
/** Without any answer for so long a job is given up: the service has cancelled it long since. */
const longestSilenceMs = 60_000;
/** How often a deletion is sent before the job is left to die by itself. */
const deletionTries = 3;
/** And while replicas may not have heard of the job yet (10.2): with these delays the last one goes out when all of them must have. */
const earlyDeletionTries = 6;
const deletionDelayMs = 500;

export interface SearchJobOptions {
  readonly job: OpenJob;
  readonly order: JobOrder;
  readonly permit: JobPermit;
  readonly clock: Clock;
  /** `Answer.dateMs` of its creation. */
  readonly createdDateMs?: number | undefined;
  /** See `OpenOptions`. */
  readonly expectedMs?: number | undefined;
  /** Called after each status that was answered. What it throws ends the job, and goes to those who wait for it or read it. */
  readonly onProgress?: ((progress: JobProgress) => void) | undefined;
}

/** Which messages to read, and who takes them. */
export interface MessageReading {
  /** The first one, from 0 on. */
  readonly offset: number;
  /** How many there are, those before `offset` too; as many as the last status counted where absent. */
  readonly total?: number;
  /** Rows of a page at most; a full page where absent. */
  readonly limit?: number;
  readonly receiver: RowReceiver;
  /** Called after each page that came whole, with the offset of its first row. */
  readonly onPage?: (page: MessagePage, offset: number) => void;
  readonly signal?: AbortSignal;
}

export interface RecordReading {
  readonly offset: number;
  readonly total?: number;
  /** Takes the records of a page; the next one is asked for when a promise is fulfilled. */
  readonly take: (page: RecordPage, offset: number) => Promise<void> | undefined;
  readonly signal?: AbortSignal;
}

export class SearchJob {
  /** When the creation was sent, on the monotonic clock: the service ends a job eight hours after it (3.1, protocol E13). */
  readonly createdAtMs: number;
  readonly #job: OpenJob;
  readonly #order: JobOrder;
  readonly #permit: JobPermit;
  readonly #clock: Clock;
  readonly #onProgress: (progress: JobProgress) => void;
  readonly #gathering: JobGathering;
  /** Aborted when the job is closed or has ended. */
  readonly #stop = new AbortController();
  readonly #polls: JobPolls;
  /** When it was first known that the search is over. */
  #doneAtMs: number | undefined;
  #finished: JobProgress | undefined;
  #end: LogfleetError | undefined;
  /** What `onProgress` threw. */
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

  /** What was asked for. */
  get order(): JobOrder {
    return this.#order;
  }

  /** As the last answered status has it. */
  get progress(): JobProgress {
    return this.#gathering.progress();
  }

  /** Why the job can no longer be used; undefined while it can. */
  get end(): LogfleetError | undefined {
    return this.#end;
  }

  /** Of what was found so far. */
  histogram(): Histogram {
    return this.#gathering.histogram();
  }

  /**
   * Resolves when the service has searched all it will, DONE GATHERING RESULTS or FORCE PAUSED, and every status that was asked for
   * before is answered or lost. Rejects with `end` when the job is lost before, with the signal's reason when that comes first.
   */
  async whenFinished(signal?: AbortSignal): Promise<JobProgress> {
    while (!this.#finished) {
      signal?.throwIfAborted();
      this.#throwIfOver();
      await this.#news(signal);
    }
    return this.#finished;
  }

  /** Moves the first look to when the search should be over (see `OpenOptions`). Does nothing after the first answered status. */
  expect(expectedMs: number | undefined): void {
    if (this.progress.statuses === 0) this.#polls.lookAt(this.createdAtMs + firstLookMs(expectedMs));
  }

  /** Resolves with the next status that is answered, when the job has ended, or when the signal is aborted. */
  async whenNews(signal?: AbortSignal): Promise<void> {
    if (!this.#end && !signal?.aborted) await this.#news(signal);
  }

  /** 4.3. Resolves to the offset behind the last row; see `readPages`. */
  async readMessages(reading: MessageReading): Promise<number> {
    const { receiver, onPage } = reading;
    let given = 0;
    const counting: RowReceiver = {
      row: (row) => {
        receiver.row(row);
        given++;
      },
      ...(receiver.run && {
        run: (rows: PageRows) => {
          receiver.run?.(rows);
          given += rows.length;
        },
      }),
      room: () => receiver.room?.(),
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
      room: () => receiver.room?.(),
    }));
  }

  /** How the service describes the fields of the messages (2.4), by a page with one of them; nothing where there is no message. */
  async describeFields(signal?: AbortSignal): Promise<readonly PageField[]> {
    let fields: readonly PageField[] = [];
    const total = Math.min(1, this.progress.messageCount);
    await this.#read({ offset: 0, total, ...(signal && { signal }) }, total, (either) => ({
      fetch: async ({ offset }) => {
        const { value } = await this.#job.listMessages({ offset, limit: 1 }, { row() {} }, { signal: either });
        fields = value.fields;
        return value.rows;
      },
      given: () => 0,
      room: () => undefined,
    }));
    return fields;
  }

  /** How the service describes the fields of the records (2.6), also where there is none. Rejects where the query is no aggregation (7.4). */
  async describeRecords(signal?: AbortSignal): Promise<readonly PageField[]> {
    let fields: readonly PageField[] = [];
    await this.#read({ offset: 0, ...(signal && { signal }) }, 1, (either) => ({
      fetch: async ({ offset }) => {
        const { value } = await this.#job.listRecords({ offset, limit: 1 }, { signal: either });
        fields = value.fields;
        return 1;
      },
      given: () => 0,
      room: () => undefined,
    }));
    return fields;
  }

  /** 4.4. To be called of a finished job alone: earlier records may be wrong (10.3). Resolves to the offset behind the last one. */
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
        // What it failed with stays, for whoever waits for room or for the end.
        taken?.then(
          () => {
            if (taking === taken) taking = undefined;
          },
          () => {},
        );
        return value.records.length;
      },
      given: () => 0,
      room: () => taking,
    }));
    await taking;
    return end;
  }

  /** Ends the job and deletes it (4.5). Never rejects: what cannot be deleted dies by itself after 30 s of silence. */
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
        const { code, handling } = asLogfleetError(thrown);
        const mostTries = code === notKnownYetCode ? earlyDeletionTries : deletionTries;
        if (handling.kind === 'stall' || handling.kind === 'bug' || tries >= mostTries) return false;
        await sleep(this.#clock, deletionDelayMs * 2 ** (tries - 1));
      }
    }
  }

  async #read(
    { offset, total, limit, signal }: Pick<MessageReading, 'offset' | 'total' | 'limit' | 'signal'>,
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
    if (this.#doneAtMs !== undefined) this.#polls.lookAt(Number.POSITIVE_INFINITY);
    else if (isNewest) this.#polls.lookAt(this.#nextLookMs(answer.sentAtMs));
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
    // That its cookies have led nowhere may pass; the service goes on counting the job until it has been silent for long.
    const isCookieOver = error.code === cookieMissingCode && silentMs >= orphanLifeMs;
    if (isFinal(error) || isCookieOver) this.#ended(error);
    else if (silentMs >= longestSilenceMs) this.#ended(silencedError(this.id, silentMs, error));
    this.#finish();
  }

  /** What was asked before the end was known may still bring an error, and is waited for (protocol E5). */
  #finish(): void {
    if (this.#finished || this.#end || this.#doneAtMs === undefined) return;
    if (this.#polls.oldestSentMs <= this.#doneAtMs) return;
    this.#finished = this.progress;
    this.#tell();
  }

  #nextLookMs(sentAtMs: number): number {
    const { idleAtMs = this.createdAtMs } = this.#gathering;
    const course = {
      elapsedMs: sentAtMs - this.createdAtMs,
      searchingMs: sentAtMs - idleAtMs,
      donePart: this.#gathering.donePart(this.#order),
      looks: this.progress.statuses,
    };
    return sentAtMs + nextLookMs(course);
  }

  #ended(error: LogfleetError): void {
    if (this.#end) return;
    this.#end = error;
    this.#over();
    // The service no longer counts what it no longer knows, and goes on when we fail; of anything else nobody can tell.
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
