/**
 * The histogram of a job from what its statuses bring (2.3): only what is new by the specification, so that a bucket that comes again
 * brings more of it; everything each time by one report (10.2), so that a bucket that comes again replaces what it was.
 *
 * Both are kept for each bucket: all of its counts together, and the largest of them. Which one is meant is told by the job's own
 * count of messages, which is the total in either case: the reading that adds up to it holds. Where every bucket came once they are
 * the same, and since neither is ever below the other's part of a bucket, equal sums are equal buckets.
 */
import type { HistogramBucket } from './search-service.ts';

/** More buckets no service makes; those beyond are not kept, and the histogram does not add up. */
const maxBuckets = 20_000;

export interface Histogram {
  /** In order of time. */
  readonly buckets: readonly HistogramBucket[];
  readonly total: number;
  /** Whether the total is the job's count of messages. Otherwise something is missing, or counted twice. */
  readonly addsUp: boolean;
}

interface Tally {
  readonly startMs: number;
  readonly lengthMs: number;
  together: number;
  largest: number;
}

export class JobHistogram {
  /** By start and length: the service may cut its buckets otherwise at any time. */
  readonly #tallies = new Map<string, Tally>();
  #reachedMs: number | undefined;

  /** The oldest time that a bucket has shown: how far the job has come from its end (2.3). */
  get reachedMs(): number | undefined {
    return this.#reachedMs;
  }

  add(buckets: readonly HistogramBucket[]): void {
    for (const bucket of buckets) this.#add(bucket);
  }

  /** In the reading that adds up to `messageCount`; where none does, the one that comes closer. */
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
