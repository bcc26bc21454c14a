/**
 * Manages an export's running searches. Updates the export's delays, messages and next intervals with the result of
 * each search.
 */
import type { LogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { type CommitRecord, recordKey } from '../../destination/commit-record.ts';
import type { MessageHistogram } from '../../service/jobs/job-gathering.ts';
import type { JobView, RunningSearch, SearchOrder, SearchResult } from '../search/search-tools.ts';
import type { ExportDelays } from './export-delays.ts';
import { rangeText } from './figure-text.ts';
import { RowHistogram } from './row-histogram.ts';

export interface Search extends RunningSearch {
  /** Monotonic time at which the search began. */
  readonly begunAtMs: number;
  /** Result of the search. Never rejects. */
  readonly done: Promise<SearchResult>;
  readonly jobs: readonly JobView[];
  /** Returns the number of rows that the search job has found so far in each period. */
  histogram(): MessageHistogram | undefined;
  stop(): void;
  endAsCut(): void;
}

export interface RunningSearchesOptions {
  readonly log: Logger;
  readonly delays: ExportDelays;
  readonly messages: NewestTexts;
  /** Range of the export. */
  readonly range: TimeRange;
  /** Called with each commit record that a search writes, or that another process has already written. */
  readonly onCommitted: (record: CommitRecord) => void;
  /** Called when another process has probably written commit records for this export. */
  readonly onOthers: () => void;
  /** Called when a search has ended and its result has been processed. */
  readonly onEnded: () => void;
}

export class RunningSearches {
  /**
   * Newer parts of intervals whose searches the service cut short. Each part is searched before the rest of its
   * interval. The part with the latest start comes first.
   */
  narrowed: readonly SearchOrder[] = [];
  /** Bytes scanned by searches that have ended. */
  endedBytes = 0;
  /** Number of commit records that this process has written. */
  written = 0;
  readonly #options: RunningSearchesOptions;
  readonly #searches = new Map<Search, Promise<void>>();
  readonly #histogram: RowHistogram;
  /**
   * Searches that were running when a user changed `incompletePolicy` to `Keep`. If such a search finds its interval
   * incomplete, the result is ignored, and the interval is searched again.
   */
  #ofFormerPolicy = new WeakSet<Search>();

  constructor(options: RunningSearchesOptions) {
    this.#options = options;
    this.#histogram = new RowHistogram(options.range);
  }

  get list(): readonly Search[] {
    return [...this.#searches.keys()];
  }

  get runningBytes(): number {
    return this.list.reduce((sum, { scannedBytes }) => sum + scannedBytes, 0);
  }

  /** Returns the row counts in 60 equal periods of the time range. */
  histogramOf(intervals: readonly CommitRecord[]): readonly number[] {
    return this.#histogram.read(intervals);
  }

  add(order: SearchOrder, search: Search): void {
    const ended = search.done.then((result) => {
      this.#searches.delete(search);
      this.endedBytes += search.scannedBytes;
      const isOutdated = result.kind === 'incomplete' && this.#ofFormerPolicy.has(search);
      if (!isOutdated) this.#learn(order, result);
      if (result.kind === 'committed') this.#histogram.learn(result.record, search.histogram());
      this.#options.onEnded();
    });
    this.#searches.set(search, ended);
  }

  /** Applies `incompletePolicy: Keep`: incomplete intervals are searched again, and then committed as incomplete. */
  keepIncomplete(): void {
    this.#options.delays.liftUnproven();
    this.#ofFormerPolicy = new WeakSet(this.#searches.keys());
  }

  /** Stops all searches. Resolves when they have ended. */
  async stop(): Promise<void> {
    for (const search of this.#searches.keys()) search.stop();
    await Promise.all(this.#searches.values());
  }

  /** Ends the delays of an interval and removes its messages, because another process has committed the interval. */
  committedElsewhere(record: CommitRecord): void {
    this.#options.delays.committedElsewhere(record);
    this.#forget(record);
  }

  #forget(record: CommitRecord): void {
    const { segment, toMs } = record;
    this.narrowed = this.narrowed.filter((order) => order.segment !== segment || order.toMs !== toMs);
    this.#options.messages.forget(recordKey(record));
  }

  #learn(order: SearchOrder, result: SearchResult): void {
    const { delays, onOthers } = this.#options;
    switch (result.kind) {
      case 'committed':
        this.written++;
        this.#committed(result.record);
        break;
      case 'taken':
        this.#committed(result.existing);
        onOthers();
        break;
      case 'narrowed':
        delays.succeeded(order);
        this.narrowed = [...this.narrowed, result.order].sort((left, right) => right.fromMs - left.fromMs);
        break;
      case 'again':
        if (result.isFailure) delays.provedNothing(order);
        delays.again(order, `${rangeText(order)} ${result.message}`);
        this.#addMessage(order, result.message);
        break;
      case 'incomplete': {
        const { reason, message, figures } = result;
        delays.incomplete({ order, reason, message, figures });
        this.#addMessage(order, message);
        break;
      }
      case 'failed':
        this.#failed(order, result.error);
        break;
      case 'stopped':
        break;
    }
  }

  /** Adds a message about an interval to the status. The message is removed when the interval is committed. */
  #addMessage(order: SearchOrder, message: string): void {
    this.#options.messages.add(`${rangeText(order)} ${message}`, recordKey(order));
  }

  #committed(record: CommitRecord): void {
    this.#options.onCommitted(record);
    this.#options.delays.succeeded(record);
    this.#forget(record);
  }

  #failed(order: SearchOrder, error: LogfleetError): void {
    const { delays, log, onOthers } = this.#options;
    // A lost upload usually means that another process has completed the export and removed the upload.
    if (error.code === 'destination.lost') onOthers();
    log[error.handling.kind === 'bug' ? 'error' : 'warn']('the search of an interval failed', { ...order, error });
    delays.searchFailed(order, error);
  }
}

/** Time in ms within which a search job is usually created. */
const usualCreationMs = 10_000;

/**
 * Returns the number of searches that have waited unusually long for the creation of their search job. `delayMs` is the
 * time in ms until this number may increase.
 */
export function waitingSearches(searches: readonly Pick<Search, 'begunAtMs' | 'createdAtMs'>[], nowMs: number) {
  const leftMs = searches
    .filter(({ createdAtMs }) => createdAtMs === undefined)
    .map(({ begunAtMs }) => begunAtMs + usualCreationMs - nowMs);
  const comingMs = leftMs.filter((ms) => ms > 0);
  return { count: leftMs.length - comingMs.length, delayMs: Math.min(Number.POSITIVE_INFINITY, ...comingMs) };
}

/** Maximum number of messages in the status, newest first. */
const maxTexts = 10;

interface Reported {
  readonly text: string;
  /** Subject of the message, such as an interval. Undefined if the message is about the whole export. */
  readonly of: string | undefined;
}

export class NewestTexts {
  #reported: readonly Reported[] = [];

  get all(): readonly string[] {
    return this.#reported.map(({ text }) => text);
  }

  /** Adds a message. If the same message is already in the list, it becomes the newest. */
  add(text: string, of?: string): void {
    this.#reported = [{ text, of }, ...this.#reported.filter((other) => other.text !== text)].slice(0, maxTexts);
  }

  /** Adds a message. If the same message is already in the list, it keeps its position. */
  addIfAbsent(text: string): void {
    if (!this.all.includes(text)) this.add(text);
  }

  /** Removes all messages about this subject. */
  forget(of: string): void {
    this.#reported = this.#reported.filter((reported) => reported.of !== of);
  }
}
