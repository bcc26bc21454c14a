/** The running searches of an export, and the results of ended searches: intervals to search next, delays and messages. */
import type { LogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { type CommitRecord, recordKey } from '../../destination/commit-record.ts';
import type { MessageHistogram } from '../../service/jobs/job-gathering.ts';
import type { Interval } from '../search/message-limit.ts';
import type { JobView, RunningSearch, SearchOrder, SearchOutcome, StopReason } from '../search/search-tools.ts';
import type { ExportDelays } from './export-delays.ts';
import { rangeText } from './figure-text.ts';
import { RowHistogram } from './row-histogram.ts';

/** The running search of one interval. */
export interface Search extends RunningSearch {
  /** Monotonic time at which the search began. */
  readonly begunAtMs: number;
  /** Outcome of the search. The promise never rejects, and resolves when the search has no work left. */
  readonly done: Promise<SearchOutcome>;
  readonly jobs: readonly JobView[];
  /** Distribution over time of the rows that the search job has found so far. */
  histogram(): MessageHistogram | undefined;
  stop(reason: StopReason): void;
  endAsCut(): void;
}

export interface RunningSearchesOptions {
  readonly log: Logger;
  readonly delays: ExportDelays;
  readonly messages: NewestTexts;
  /** Range of the export. */
  readonly range: Interval;
  /** Called with each commit record that a search finds or writes at the destination. */
  readonly onCommitted: (record: CommitRecord) => void;
  /** Called when a search detects that another process writes commit records for this export. */
  readonly onOthers: () => void;
  /** Called after the outcome of a search is applied. */
  readonly onEnded: () => void;
}

export class RunningSearches {
  readonly #options: RunningSearchesOptions;
  readonly #searches = new Map<Search, Promise<void>>();
  readonly #histogram: RowHistogram;
  #narrowed: readonly SearchOrder[] = [];
  /** Searches that began before the user changed the policy from `Fail` to `Keep`. They may still be judged by `Fail`. */
  #ofFormerPolicy = new WeakSet<Search>();
  #endedBytes = 0;
  #written = 0;

  constructor(options: RunningSearchesOptions) {
    this.#options = options;
    this.#histogram = new RowHistogram(options.range);
  }

  get list(): readonly Search[] {
    return [...this.#searches.keys()];
  }

  /** Searches that must cover less than the rest of their segment, the shortest first. */
  get narrowed(): readonly SearchOrder[] {
    return this.#narrowed;
  }

  /** Bytes scanned by ended searches. */
  get endedBytes(): number {
    return this.#endedBytes;
  }

  /** Bytes scanned so far by running searches. */
  get runningBytes(): number {
    return this.list.reduce((sum, { scannedBytes }) => sum + scannedBytes, 0);
  }

  /** Number of commit records that searches of this process have written for the export. */
  get written(): number {
    return this.#written;
  }

  /** Number of rows in the given intervals, by slice of the export's range (`row-histogram.ts`). */
  histogramOf(intervals: readonly CommitRecord[]): readonly number[] {
    return this.#histogram.read(intervals);
  }

  add(order: SearchOrder, search: Search): void {
    const ended = search.done.then((outcome) => {
      this.#searches.delete(search);
      this.#endedBytes += search.scannedBytes;
      const isOutdated = outcome.kind === 'incomplete' && this.#ofFormerPolicy.has(search);
      if (!isOutdated) this.#learn(order, outcome);
      if (outcome.kind === 'committed') this.#histogram.learn(outcome.record, search.histogram());
      this.#options.onEnded();
    });
    this.#searches.set(search, ended);
  }

  /** Applies `incompletePolicy: Keep` from now on. Intervals that could not be proven complete under the former policy are searched again. */
  keepIncomplete(): void {
    this.#options.delays.liftUnproven();
    this.#ofFormerPolicy = new WeakSet(this.#searches.keys());
  }

  /** Stops all searches. Resolves when they have ended. */
  async stop(reason: StopReason): Promise<void> {
    for (const search of this.#searches.keys()) search.stop(reason);
    await Promise.all(this.#searches.values());
  }

  /** Drops all delays and orders that concern the interval of this commit record. */
  forget(record: CommitRecord): void {
    const { segment, toMs } = record;
    this.#narrowed = this.#narrowed.filter((order) => order.segment !== segment || order.toMs !== toMs);
    this.#options.delays.succeeded(record);
    this.#options.messages.forget(recordKey(record));
  }

  #learn(order: SearchOrder, outcome: SearchOutcome): void {
    const { delays, onOthers } = this.#options;
    switch (outcome.kind) {
      case 'committed':
        this.#written++;
        this.#committed(outcome.record);
        break;
      case 'taken':
        this.#committed(outcome.existing);
        onOthers();
        break;
      case 'narrowed':
        delays.succeeded(order);
        this.#narrowed = [...this.#narrowed, outcome.order].sort((left, right) => right.fromMs - left.fromMs);
        break;
      case 'again':
        if (outcome.isFailure) delays.provedNothing(order);
        delays.again(order, `${rangeText(order)} ${outcome.message}`);
        if (outcome.isFailure) this.#tell(order, outcome.message);
        break;
      case 'incomplete': {
        const { reason, message, figures } = outcome;
        delays.incomplete({ order, reason, message, figures });
        this.#tell(order, message);
        break;
      }
      case 'failed':
        this.#failed(order, outcome.error);
        break;
      case 'stopped':
        break;
    }
  }

  /** Shows users a message about an interval until the interval is committed. */
  #tell(order: SearchOrder, message: string): void {
    this.#options.messages.tell(`${rangeText(order)} ${message}`, recordKey(order));
  }

  #committed(record: CommitRecord): void {
    this.#options.onCommitted(record);
    this.forget(record);
  }

  #failed(order: SearchOrder, error: LogfleetError): void {
    const { delays, log, onOthers } = this.#options;
    // Another process has finished the export and removed all running uploads, including the upload of this search.
    if (error.code === 'destination.lost') onOthers();
    log[error.handling.kind === 'bug' ? 'error' : 'warn']('the search of an interval failed', { ...order, error });
    delays.searchFailed(order, error);
  }
}

/** Time in ms within which a search job is usually created if no other job is waiting for creation. */
const usualCreationMs = 10_000;

/**
 * Number of searches that have waited unusually long for a search job, for messages to users. `delayMs` is the time in ms until one more
 * search counts as waiting; infinite if time alone adds none.
 */
export function waitingSearches(searches: readonly Pick<Search, 'begunAtMs' | 'createdAtMs'>[], nowMs: number) {
  const leftMs = searches
    .filter(({ createdAtMs }) => createdAtMs === undefined)
    .map(({ begunAtMs }) => begunAtMs + usualCreationMs - nowMs);
  const comingMs = leftMs.filter((ms) => ms > 0);
  return { count: leftMs.length - comingMs.length, delayMs: Math.min(Number.POSITIVE_INFINITY, ...comingMs) };
}

/** Maximum number of messages or warnings shown in status. All are different, and the newest comes first. */
const maxTexts = 10;

interface Told {
  readonly text: string;
  /** Subject, such as an interval, of the latest message with this text; undefined if the message has no subject. */
  readonly of: string | undefined;
}

export class NewestTexts {
  #told: readonly Told[] = [];

  get all(): readonly string[] {
    return this.#told.map(({ text }) => text);
  }

  /** Adds a text to the list. A text that is already listed becomes the newest. */
  tell(text: string, of?: string): void {
    this.#told = [{ text, of }, ...this.#told.filter((other) => other.text !== text)].slice(0, maxTexts);
  }

  /** Adds a text to the list. A text that is already listed keeps its position. */
  keep(text: string): void {
    if (!this.all.includes(text)) this.tell(text);
  }

  /** Removes all texts about this subject from the list. */
  forget(of: string): void {
    this.#told = this.#told.filter((told) => told.of !== of);
  }
}
