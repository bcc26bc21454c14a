/**
 * Collects the errors, warnings and histogram buckets from the statuses of a search job. The service returns each of
 * them only once (2.3), so a lost answer to a status request may have contained an error (E5).
 */

import type { Answer } from '../requests/call.ts';
import type { HistogramBucket, JobState, JobStatus } from './search-service.ts';

/** Maximum number of different errors or warnings of a search job that are stored. Later ones are dropped. */
const maxTexts = 100;
const maxTextLength = 1_000;
/** Matches a warning that the search stopped at the maximum number of messages (10.2). */
const limitReached = /max(?:imum)?\s+results\s+reached/i;

/** State of a search job, as far as the service's answers have shown it. */
export interface JobProgress {
  readonly state: JobState;
  readonly messageCount: number;
  /** Number of records of the search job; undefined if the service counts only messages. */
  readonly recordCount: number | undefined;
  readonly scannedBytes: number | undefined;
  /** Different errors of the search job, in order of arrival. */
  readonly errors: readonly string[];
  /** Warnings of the search job, including warnings in the answers to its creation and to page requests. */
  readonly warnings: readonly string[];
  /**
   * True if the service has reported that its message limit cut the search, by the state FORCE PAUSED or by a warning.
   * False does not prove that the search is complete, because the service may not report the cut (10.2, E4).
   */
  readonly isLimitReached: boolean;
  /**
   * True if the answer to a status request was lost. The answer may have contained an error, so the job proves nothing
   * about its rows (E5).
   */
  readonly hasLostStatus: boolean;
  /** Number of answered status requests. */
  readonly statuses: number;
  /**
   * Time of the newest answer by the service's clock. It shows how far the service's clock is behind the clock of this
   * machine. Undefined if the answer has no date, or arrived after the answer to a later request.
   */
  readonly dateMs: number | undefined;
}

export class JobGathering {
  readonly #errors = new Set<string>();
  readonly #warnings = new Set<string>();
  readonly #histogram = new JobHistogram();
  #progress: Omit<JobProgress, 'errors' | 'warnings' | 'isLimitReached'>;
  /** Whether a warning has reported that the search stopped at the maximum number of messages. */
  #isLimitWarned = false;
  /** Send time of the newest answered status request. */
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #idleAtMs: number | undefined;

  /** @param dateMs time of the job's creation by the service's clock */
  constructor(dateMs?: number) {
    const counts = { messageCount: 0, recordCount: undefined, scannedBytes: undefined, statuses: 0 };
    this.#progress = { state: 'notStarted', ...counts, hasLostStatus: false, dateMs };
  }

  /**
   * Send time of the newest status request whose answer showed that the search had not started; undefined if there is none.
   */
  get idleAtMs(): number | undefined {
    return this.#idleAtMs;
  }

  /**
   * Ratio of the time range [fromMs, toMs) that the search has covered, 0 to 1; undefined if unknown.
   * The search runs from the end of its range to the beginning, so the oldest bucket of the histogram shows how far
   * the search has come. The histogram can run ahead of the results (3.1). The ratio is therefore multiplied by the
   * ratio of counted messages that the search has found.
   */
  doneShare({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): number | undefined {
    const { reachedMs } = this.#histogram;
    const { messageCount, state } = this.#progress;
    const { total } = this.#histogram.read(messageCount);
    if (reachedMs === undefined || total === 0 || toMs <= fromMs) return undefined;
    const found = Math.min(1, messageCount / total);
    if (state === 'doneGatheringHistogram' && found === 1) return undefined;
    return found * Math.min(1, Math.max(0, (toMs - reachedMs) / (toMs - fromMs)));
  }

  /**
   * Adds an answered status of the job, and returns whether it is the newest. An older status adds only errors, warnings and
   * histogram buckets, because the rest is out of date.
   */
  take({ value: status, sentAtMs, dateMs }: Answer<JobStatus>): boolean {
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

  /** Adds a warning from an answer that is not a status, such as a page of messages. */
  warn(text: string | undefined): void {
    if (text === undefined) return;
    addText(this.#warnings, text);
    this.#isLimitWarned ||= limitReached.test(text);
  }

  /** Records that the answer to a status request was lost, which may have contained an error. */
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

function isIdle(state: JobState): boolean {
  return state === 'notStarted' || state === 'gatheringSubqueries';
}

/**
 * Maximum number of histogram buckets that are stored. Further buckets are dropped, so the histogram then contains fewer
 * messages than the job has found.
 */
const maxBuckets = 20_000;

export interface MessageHistogram {
  /** Buckets (message counts of short periods) of the histogram, ordered by time. */
  readonly buckets: readonly HistogramBucket[];
  readonly total: number;
  /**
   * Whether the buckets together contain as many messages as the job has found. If not, buckets are missing or were
   * counted twice.
   */
  readonly addsUp: boolean;
}

interface BucketCounts {
  readonly startMs: number;
  readonly lengthMs: number;
  together: number;
  largest: number;
}

/**
 * Histogram of a search job, collected from its statuses. By the specification, a status counts only new messages in a
 * bucket, so the counts of repeated buckets are added (2.3). According to one report, a status counts all messages of a
 * bucket so far (10.2), so the largest count is used. `read` chooses the result that fits the number of messages that
 * the job has found.
 */
export class JobHistogram {
  /**
   * Counts by the start and length of the bucket. The service may change the length of buckets during a search, so the
   * start alone does not identify a bucket.
   */
  readonly #counts = new Map<string, BucketCounts>();
  #reachedMs: number | undefined;

  /**
   * Start of the oldest bucket so far. It shows the progress of the search, which runs from the end of its time range
   * to the beginning (2.3).
   */
  get reachedMs(): number | undefined {
    return this.#reachedMs;
  }

  add(buckets: readonly HistogramBucket[]): void {
    for (const bucket of buckets) this.#add(bucket);
  }

  /**
   * Returns all buckets. For repeated buckets, uses either the sum or the maximum of the counts, whichever brings the
   * total closer to `messageCount`.
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
