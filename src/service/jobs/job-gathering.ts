/**
 * Collects a search job's errors, warnings and histogram from its statuses. The service returns each error only once,
 * so a lost response may have contained an error (E5, section 2.3 of docs/service.md).
 */

import type { TimeRange } from '../../base/time-range.ts';
import type { CallResponse } from '../requests/call.ts';
import type { HistogramBucket, JobStatus, SearchJobState } from './search-service.ts';

/** Maximum number of stored errors, and also of stored warnings. Any further errors or warnings are dropped. */
const maxTexts = 100;
const maxTextLength = 1_000;
/** Matches the warning that a search stopped at the message limit (section 10.2 of docs/service.md). */
const limitReached = /max(?:imum)?\s+results\s+reached/i;

export interface JobProgress {
  readonly state: SearchJobState;
  readonly messageCount: number;
  /** Number of records that the search job has found. Undefined if the service counts only messages. */
  readonly recordCount: number | undefined;
  readonly scannedBytes: number | undefined;
  /** Errors of the search job in order of arrival, without duplicates. */
  readonly errors: readonly string[];
  /** Warnings from all responses of the search job. */
  readonly warnings: readonly string[];
  /**
   * True if the service reported that its message limit cut the search short. The service may also cut a search short
   * without reporting it (E4, section 10.2 of docs/service.md).
   */
  readonly isLimitReached: boolean;
  /** True if a status response was lost. The lost response may have contained a search error (E5). */
  readonly hasLostStatus: boolean;
  /** Number of status requests that have been answered. */
  readonly statuses: number;
  /** Time of the service's latest response, according to the service's clock. Undefined if unknown. */
  readonly dateMs: number | undefined;
}

export class JobGathering {
  readonly #errors = new Set<string>();
  readonly #warnings = new Set<string>();
  readonly #histogram = new JobHistogram();
  #progress: Omit<JobProgress, 'errors' | 'warnings' | 'isLimitReached'>;
  /** True if a warning has reported that the message limit was reached. */
  #isLimitWarned = false;
  /** Send time of the latest status request that has been answered. */
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #idleAtMs: number | undefined;

  constructor(dateMs?: number) {
    const counts = { messageCount: 0, recordCount: undefined, scannedBytes: undefined, statuses: 0 };
    this.#progress = { state: 'notStarted', ...counts, hasLostStatus: false, dateMs };
  }

  /** Send time of the latest status request whose response said that the search had not started yet. */
  get idleAtMs(): number | undefined {
    return this.#idleAtMs;
  }

  /**
   * Returns the fraction of the time range that the search has covered (0 to 1), or undefined if unknown. The search
   * runs backwards in time, so the oldest histogram bucket shows how far the search has come.
   */
  doneShare({ fromMs, toMs }: TimeRange): number | undefined {
    const { reachedMs } = this.#histogram;
    const { messageCount, state } = this.#progress;
    const { total } = this.#histogram.read(messageCount);
    if (reachedMs === undefined || total === 0 || toMs <= fromMs) return undefined;
    const found = Math.min(1, messageCount / total);
    if (state === 'doneGatheringHistogram' && found === 1) return undefined;
    return found * Math.min(1, Math.max(0, (toMs - reachedMs) / (toMs - fromMs)));
  }

  /**
   * Adds the response to a status request. If a request sent later has already been answered, uses only the response's
   * errors, warnings and message counts, and returns false.
   */
  take({ value: status, sentAtMs, dateMs }: CallResponse<JobStatus>): boolean {
    const isNewest = sentAtMs >= this.#askedAtMs;
    const former = this.#progress;
    this.#progress = { ...former, statuses: former.statuses + 1, dateMs: isNewest ? dateMs : undefined };
    if (isNewest) {
      this.#askedAtMs = sentAtMs;
      if (isIdle(status.state)) this.#idleAtMs = sentAtMs;
      const { state, messageCount, recordCount = former.recordCount, scannedBytes = former.scannedBytes } = status;
      this.#progress = { ...this.#progress, state, messageCount, recordCount, scannedBytes };
    }
    this.#histogram.add(status.buckets);
    for (const text of status.pendingErrors) addText(this.#errors, text);
    for (const text of status.pendingWarnings) this.warn(text);
    this.warn(status.warning);
    return isNewest;
  }

  /**
   * Adds the warning from a response. Does nothing if `text` is undefined. `take` calls this method for status
   * responses.
   */
  warn(text: string | undefined): void {
    if (text === undefined) return;
    addText(this.#warnings, text);
    this.#isLimitWarned ||= limitReached.test(text);
  }

  /** Records that the response to a status request was lost. The response may have contained a search error. */
  lost(): void {
    this.#progress = { ...this.#progress, hasLostStatus: true };
  }

  progress(): JobProgress {
    return {
      ...this.#progress,
      errors: [...this.#errors],
      warnings: [...this.#warnings],
      isLimitReached: this.#isLimitWarned || this.#progress.state === 'forcePaused',
    };
  }

  histogram(): MessageHistogram {
    return this.#histogram.read(this.#progress.messageCount);
  }
}

function addText(texts: Set<string>, text: string): void {
  if (texts.size < maxTexts) texts.add(text.slice(0, maxTextLength));
}

function isIdle(state: SearchJobState): boolean {
  return state === 'notStarted' || state === 'gatheringSubqueries';
}

/** Maximum number of histogram buckets. Any further buckets are dropped. */
const maxBuckets = 20_000;

export interface MessageHistogram {
  /** Message counts for short periods, ordered by time. */
  readonly buckets: readonly HistogramBucket[];
  readonly total: number;
  /** True if the histogram contains as many messages as the search job has found. */
  readonly addsUp: boolean;
}

interface BucketCounts {
  readonly startMs: number;
  readonly lengthMs: number;
  together: number;
  largest: number;
}

/**
 * Histogram of a search job. A status may count only the messages since the previous status (section 2.3 of
 * docs/service.md) or all messages so far (section 10.2 of docs/service.md). `read` calculates both sums, and uses the
 * one that is closer to the number of messages that the status reports.
 */
export class JobHistogram {
  /**
   * Message counts by bucket start and bucket length. The length is part of the key, because the service may change the
   * bucket length during a search.
   */
  readonly #counts = new Map<string, BucketCounts>();
  #reachedMs: number | undefined;

  /** Start of the oldest histogram bucket, which shows the progress of the search (section 2.3 of docs/service.md). */
  get reachedMs(): number | undefined {
    return this.#reachedMs;
  }

  add(buckets: readonly HistogramBucket[]): void {
    for (const bucket of buckets) this.#add(bucket);
  }

  /**
   * Returns all buckets. If several statuses contain the same bucket, uses the sum or the maximum of the bucket's
   * counts, whichever gives a total closer to `messageCount`.
   */
  read(messageCount: number): MessageHistogram {
    const together = this.#sum(({ together }) => together);
    const largest = this.#sum(({ largest }) => largest);
    const isTogether = Math.abs(together - messageCount) < Math.abs(largest - messageCount);
    const buckets = [...this.#counts.values()].map((counts) => ({
      startMs: counts.startMs,
      lengthMs: counts.lengthMs,
      count: isTogether ? counts.together : counts.largest,
    }));
    buckets.sort((left, right) => left.startMs - right.startMs || left.lengthMs - right.lengthMs);
    const total = isTogether ? together : largest;
    return { buckets, total, addsUp: total === messageCount };
  }

  #add({ startMs, lengthMs, count }: HistogramBucket): void {
    this.#reachedMs = Math.min(this.#reachedMs ?? startMs, startMs);
    const key = `${startMs}+${lengthMs}`;
    const counts = this.#counts.get(key);
    if (counts) {
      counts.together += count;
      counts.largest = Math.max(counts.largest, count);
    } else if (this.#counts.size < maxBuckets) {
      this.#counts.set(key, { startMs, lengthMs, together: count, largest: count });
    }
  }

  #sum(of: (counts: BucketCounts) => number): number {
    let sum = 0;
    for (const counts of this.#counts.values()) sum += of(counts);
    return sum;
  }
}
