/**
 * Counts the messages from collectors. Runs one search job per period, one job at a time. Repeats a search job if its
 * result may be incomplete.
 */
import { sameValue } from '../../base/canonical-text.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asLogfleetError, failure, type LogfleetError } from '../../base/errors.ts';
import { countBefore, retryDelayMs } from '../../base/retry-delay.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { figureOf, readAggregation, textOf } from '../../service/jobs/aggregation.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import type { SearchJobs } from '../../service/jobs/search-jobs.ts';
import type { JobOrder } from '../../service/jobs/search-service.ts';
import type { PostingPolicy } from '../attempts/posting.ts';
import type { MessageCounts } from './message-analysis.ts';

export interface AnalysisOrder {
  readonly query: string;
  readonly periods: readonly TimeRange[];
}

export type AnalysisReading = { readonly order: AnalysisOrder } & (
  | {
      readonly kind: 'counted';
      /** Message counts for each period. */
      readonly counts: readonly MessageCounts[];
      /** Bytes scanned by all searches, including failed searches. 0 if the service does not report scanned bytes. */
      readonly scannedBytes: number;
    }
  /** Error from the last search job. The search job is repeated after a delay. */
  | { readonly kind: 'failed'; readonly error: LogfleetError }
);

/** Maximum delay in ms before a failed search is repeated. */
const longestRetryMs = 5 * 60_000;
/**
 * Limits on the difference between the service's clock and logfleet's clock: in ms, and as a fraction of the counted
 * period. The smaller limit applies. If the difference exceeds this limit, the count is not used.
 */
const maxSkewMs = 60_000;
const maxSkewShare = 0.1;
/** Clock difference in ms that is always ignored, because the `Date` header is rounded to seconds and arrives late. */
const apparentSkewMs = 5_000;

export class MessageCounter {
  readonly #clock: Clock;
  readonly #policy: Pick<PostingPolicy, 'scheduleDecision'>;
  #run: CounterRun | undefined;

  constructor(clock: Clock, policy: Pick<PostingPolicy, 'scheduleDecision'>) {
    this.#clock = clock;
    this.#policy = policy;
  }

  /** Message counts, or the error from the last attempt to count. Undefined until the first attempt has ended. */
  get reading(): AnalysisReading | undefined {
    return this.#run?.reading;
  }

  /**
   * Counts the messages that `order` describes. Stops a running count for a different order first. If `order` is
   * undefined, only stops the running count.
   */
  count(searches: SearchJobs, order: AnalysisOrder | undefined): void {
    if (order && this.#run?.searches === searches && sameValue(this.#run.order, order)) return;
    this.close();
    this.#run = order && new CounterRun(this.#clock, () => this.#policy.scheduleDecision(), searches, order);
  }

  /** Repeats a failed search immediately, because a user asked for a retry. */
  tryAgain(): void {
    this.#run?.tryAgain();
  }

  close(): void {
    this.#run?.close();
    this.#run = undefined;
  }
}

class CounterRun {
  readonly order: AnalysisOrder;
  readonly searches: SearchJobs;
  reading: AnalysisReading | undefined;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #abort = new AbortController();
  #retry: Timer | undefined;
  readonly #counts: MessageCounts[] = [];
  #failures = 0;
  #failed: LogfleetError | undefined;
  #scannedBytes = 0;
  /**
   * Difference in ms between the service's clock and the local clock, positive if the service's clock is ahead. Small
   * differences are ignored.
   */
  #aheadMs = 0;

  constructor(clock: Clock, onChange: () => void, searches: SearchJobs, order: AnalysisOrder) {
    this.order = order;
    this.#clock = clock;
    this.#onChange = onChange;
    this.searches = searches;
    void this.#count();
  }

  close(): void {
    this.#abort.abort(new Error('the analysis is no longer needed'));
    this.#retry?.cancel();
  }

  tryAgain(): void {
    if (!this.#retry) return;
    this.#retry.cancel();
    void this.#count();
  }

  async #count(): Promise<void> {
    const { order } = this;
    this.#retry = undefined;
    try {
      // After a failed search, only the periods without a count are searched again.
      for (const period of order.periods.slice(this.#counts.length)) this.#counts.push(await this.#countPeriod(period));
      this.reading = { order, kind: 'counted', counts: this.#counts, scannedBytes: this.#scannedBytes };
    } catch (thrown) {
      if (this.#abort.signal.aborted) return;
      const error = asLogfleetError(thrown);
      const failures = countBefore(error, this.#failed, this.#failures++);
      this.#failed = error;
      this.reading = { order, kind: 'failed', error };
      this.#retry = this.#clock.after(retryDelayMs(error, failures, longestRetryMs), () => void this.#count());
    }
    if (!this.#abort.signal.aborted) this.#onChange();
  }

  async #countPeriod({ fromMs, toMs }: TimeRange): Promise<MessageCounts> {
    const { signal } = this.#abort;
    const job = await this.#open({ query: this.order.query, fromMs, toMs, byReceiptTime: true });
    const aggregated = await readAggregation(job, signal).finally(async () => {
      await job.close();
      this.#scannedBytes += job.progress.scannedBytes ?? 0;
    });
    if (aggregated?.kind === 'errors')
      throw notCounted(`the search that counts the messages ended with errors: ${aggregated.errors.join('; ')}`);
    if (!aggregated) throw notCounted('responses from the service were lost, or the search result is incomplete');
    return countsOf(aggregated.records, aggregated.messageCount);
  }

  /**
   * Opens a search job for a period. The start and end of the period are converted to the time of the service's clock.
   */
  async #open(order: JobOrder): Promise<SearchJob> {
    const { signal } = this.#abort;
    const [fromMs, toMs] = [order.fromMs + this.#aheadMs, order.toMs + this.#aheadMs];
    const job = await this.searches.open({ ...order, fromMs, toMs }, { signal });
    const { dateMs } = job.progress;
    const aheadMs = dateMs === undefined ? this.#aheadMs : dateMs - this.#clock.now();
    const toleratedMs = Math.max(apparentSkewMs, Math.min(maxSkewMs, maxSkewShare * (toMs - fromMs)));
    if (Math.abs(aheadMs - this.#aheadMs) <= toleratedMs) return job;
    this.#aheadMs = aheadMs;
    await job.close();
    throw notCounted("the service's clock differs too much from logfleet's clock");
  }
}

/** Matches the digits of a collector id. Also matches an empty id, which means messages without a collector. */
const collectorId = /^[0-9]*$/;

/** Returns message counts by collector id. Throws if the counts do not add up to the service's message count. */
function countsOf(records: readonly ReadonlyMap<string, string>[], messageCount: number): Map<string, number> {
  const counts = new Map<string, number>();
  let total = 0;
  for (const record of records) {
    const id = textOf(record, '_collectorid');
    const count = figureOf(record, '_count');
    if (count === undefined) throw notCounted('a record in the search result has no count');
    // The service may round an id, for example to 1E8. A result with a rounded id is rejected, because the collector
    // would otherwise seem to have sent no messages.
    if (!collectorId.test(id))
      throw notCounted('a collector id in the search result contains characters other than digits');
    if (counts.has(id))
      throw notCounted(
        `two records in the search result count ${id === '' ? 'messages without a collector' : `the messages of collector ${id}`}`,
      );
    counts.set(id, count);
    total += count;
  }
  if (total !== messageCount)
    throw notCounted(`the search found ${messageCount} messages, but the counts of all collectors add up to ${total}`);
  if (counts.size === 1 && counts.has('')) throw notCounted('no record in the search result names a collector');
  return counts;
}

function notCounted(problem: string): LogfleetError {
  const message = `The service gave no reliable count of messages: ${problem}.`;
  return failure('backoff', 'policy.messagesNotCounted', message, { reason: 'AnalysisUnavailable' });
}
