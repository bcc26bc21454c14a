/**
 * Histogram in the status of a search job (service.md 2.3): the number of messages in each *bucket*, newest first. All buckets
 * cover equal lengths of time, and empty buckets are omitted.
 *
 * The search stops at the start of each bucket, and then reports the number of messages so far.
 */

export interface Bucket {
  readonly startTimestamp: number;
  readonly length: number;
  readonly count: number;
}

/** Maximum number of buckets in a histogram, because the histogram is stored in memory. */
const maxBuckets = 10_000;
const usualBuckets = 60;
const secondMs = 1_000;
const fittingMs = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800, 2_592_000].map(
  (seconds) => seconds * secondMs,
);

export class Histogram {
  readonly #fromMs: number;
  readonly #bucketMs: number;
  /** Start of the current bucket in ms. It is a multiple of the width. */
  #startMs: number;
  #counted = 0;
  readonly #buckets: Bucket[] = [];
  #told = 0;

  /** Creates the buckets of a range [fromMs, toMs). */
  constructor(fromMs: number, toMs: number, bucketMs: number | undefined) {
    this.#fromMs = fromMs;
    this.#bucketMs = widthOf(toMs - fromMs, bucketMs);
    this.#startMs = (Math.ceil(toMs / this.#bucketMs) - 1) * this.#bucketMs;
  }

  /** Message time in ms at which the search stops next: the start of a bucket, or -Infinity if no bucket is left. */
  get nextStopMs(): number {
    return this.#startMs + this.#bucketMs > this.#fromMs
      ? Math.max(this.#startMs, this.#fromMs)
      : Number.NEGATIVE_INFINITY;
  }

  /** Adds the histogram bucket at whose start the search has stopped. `found` is the total number of messages so far. */
  close(found: number): void {
    const count = found - this.#counted;
    if (count > 0) this.#buckets.push({ startTimestamp: this.#startMs, length: this.#bucketMs, count });
    this.#counted = found;
    this.#startMs -= this.#bucketMs;
  }

  /** Returns the complete buckets since the last call. */
  take(): readonly Bucket[] {
    const first = this.#told;
    this.#told = this.#buckets.length;
    return this.#buckets.slice(first);
  }

  get all(): readonly Bucket[] {
    return this.#buckets;
  }
}

function widthOf(rangeMs: number, bucketMs: number | undefined): number {
  const fitting = fittingMs.find((width) => rangeMs / width <= usualBuckets) ?? Math.ceil(rangeMs / usualBuckets);
  return Math.max(1, bucketMs ?? fitting, Math.ceil(rangeMs / maxBuckets));
}
