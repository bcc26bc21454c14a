/**
 * The histogram in a search job's status: the number of messages in each *bucket*, newest first. Empty buckets are
 * omitted.
 */
import { secondMs } from '../../src/base/time-units.ts';

export interface SimulatedBucket {
  readonly startTimestamp: number;
  readonly length: number;
  readonly count: number;
}

/** Maximum number of buckets in a histogram. It is limited because the histogram is held in memory. */
const maxBuckets = 10_000;
const usualBuckets = 60;
const fittingMs = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800, 2_592_000].map(
  (seconds) => seconds * secondMs,
);

export class SimulatedHistogram {
  readonly #fromMs: number;
  readonly #bucketMs: number;
  /** Start in ms of the histogram bucket that is being counted. It is a multiple of the bucket width. */
  #startMs: number;
  #counted = 0;
  readonly #buckets: SimulatedBucket[] = [];
  #reported = 0;

  /** Creates the buckets for a range [fromMs, toMs). */
  constructor(fromMs: number, toMs: number, bucketMs: number | undefined) {
    this.#fromMs = fromMs;
    this.#bucketMs = widthOf(toMs - fromMs, bucketMs);
    this.#startMs = (Math.ceil(toMs / this.#bucketMs) - 1) * this.#bucketMs;
  }

  /**
   * Time in ms that a search, which runs backwards in time, must reach to complete the current bucket. -Infinity if all
   * buckets are complete.
   */
  get nextStopMs(): number {
    return this.#startMs + this.#bucketMs > this.#fromMs
      ? Math.max(this.#startMs, this.#fromMs)
      : Number.NEGATIVE_INFINITY;
  }

  close(found: number): void {
    const count = found - this.#counted;
    if (count > 0) this.#buckets.push({ startTimestamp: this.#startMs, length: this.#bucketMs, count });
    this.#counted = found;
    this.#startMs -= this.#bucketMs;
  }

  /** Returns the buckets that have been completed since the last call. */
  take(): readonly SimulatedBucket[] {
    const first = this.#reported;
    this.#reported = this.#buckets.length;
    return this.#buckets.slice(first);
  }

  get all(): readonly SimulatedBucket[] {
    return this.#buckets;
  }
}

function widthOf(rangeMs: number, bucketMs: number | undefined): number {
  const fitting = fittingMs.find((width) => rangeMs / width <= usualBuckets) ?? Math.ceil(rangeMs / usualBuckets);
  return Math.max(1, bucketMs ?? fitting, Math.ceil(rangeMs / maxBuckets));
}
