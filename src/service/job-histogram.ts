/**
 * Histogram of a job, accumulated from its statuses (2.3). By the specification a status contains only new counts, so repeated
 * buckets must be added. By one report it contains the totals (10.2), so repeated buckets must be replaced.
 *
 * For each bucket both the sum and the maximum of its counts are kept. The job's own message count decides: the interpretation
 * whose total equals it is correct. If each bucket occurred only once, both are the same. Neither is ever below its true value, so
 * equal totals mean equal buckets.
 */
import type { HistogramBucket } from './search-service.ts';

/** Maximum number of buckets. Further ones are dropped, and the histogram then does not add up. */
const maxBuckets = 20_000;

export interface Histogram {
  /** Ordered by time. */
  readonly buckets: readonly HistogramBucket[];
  readonly total: number;
  /** Whether the total equals the job's message count. Otherwise buckets are missing or counted twice. */
  readonly addsUp: boolean;
}

interface Tally {
  readonly startMs: number;
  readonly lengthMs: number;
  together: number;
  largest: number;
}

export class JobHistogram {
  /** Tallies by start and length, since the service may change the bucket size at any time. */
  readonly #tallies = new Map<string, Tally>();
  #reachedMs: number | undefined;

  /** Start of the oldest bucket so far. A job works backwards from its end (2.3). */
  get reachedMs(): number | undefined {
    return this.#reachedMs;
  }

  add(buckets: readonly HistogramBucket[]): void {
    for (const bucket of buckets) this.#add(bucket);
  }

  /** Returns the interpretation whose total equals `messageCount`, or else the closer one. */
  read(messageCount: number): Histogram {
    const together = this.#sum(({ together }) => together);
    const largest = this.#sum(({ largest }) => largest);
    const isTogether = Math.abs(together - messageCount) < Math.abs(largest - messageCount);
    const buckets = [...this.#tallies.values()].map((tally) => ({
      startMs: tally.startMs,
      lengthMs: tally.lengthMs,
      count: isTogether ? tally.together : tally.largest,
    }));
    buckets.sort((left, right) => left.startMs - right.startMs || left.lengthMs - right.lengthMs);
    const total = isTogether ? together : largest;
    return { buckets, total, addsUp: total === messageCount };
  }

  #add({ startMs, lengthMs, count }: HistogramBucket): void {
    this.#reachedMs = Math.min(this.#reachedMs ?? startMs, startMs);
    const key = `${startMs}+${lengthMs}`;
    const tally = this.#tallies.get(key);
    if (tally) {
      tally.together += count;
      tally.largest = Math.max(tally.largest, count);
    } else if (this.#tallies.size < maxBuckets) {
      this.#tallies.set(key, { startMs, lengthMs, together: count, largest: count });
    }
  }

  #sum(of: (tally: Tally) => number): number {
    let sum = 0;
    for (const tally of this.#tallies.values()) sum += of(tally);
    return sum;
  }
}
