/**
 * The buckets of a status (2.3), newest first. Each is told once and whole: when the search has passed its beginning, or can find
 * nothing more. Buckets without messages are left out.
 *
 * Invariant: whoever searches stops at each beginning on the way, and says how many messages it has found by then.
 */

export interface Bucket {
  readonly startTimestamp: number;
  /** Of its width, in ms. */
  readonly length: number;
  readonly count: number;
}

/** Buckets of a status come in memory, so their number is bounded, whatever width the scenario names. */
const mostBuckets = 10_000;
const usualBuckets = 60;
const secondMs = 1_000;
const fittingMs = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800, 2_592_000].map(
  (seconds) => seconds * secondMs,
);

export class Histogram {
  readonly #fromMs: number;
  readonly #bucketMs: number;
  /** Where the bucket begins that is being found, a multiple of the width. */
  #startMs: number;
  /** Messages in all buckets that are whole. */
  #counted = 0;
  readonly #buckets: Bucket[] = [];
  #told = 0;

  /** Of what a search finds in [fromMs, toMs). */
  constructor(fromMs: number, toMs: number, bucketMs: number | undefined) {
    this.#fromMs = fromMs;
    this.#bucketMs = widthOf(toMs - fromMs, bucketMs);
    this.#startMs = (Math.ceil(toMs / this.#bucketMs) - 1) * this.#bucketMs;
  }

  /** Where the search has to stop next; below the range where no bucket is left. */
  get nextStopMs(): number {
    return this.#startMs + this.#bucketMs > this.#fromMs
      ? Math.max(this.#startMs, this.#fromMs)
      : Number.NEGATIVE_INFINITY;
  }

  /** The search has stopped there, or goes on no further; it has `found` so many. */
  close(found: number): void {
    const count = found - this.#counted;
    if (count > 0) this.#buckets.push({ startTimestamp: this.#startMs, length: this.#bucketMs, count });
    this.#counted = found;
    this.#startMs -= this.#bucketMs;
  }

  /** Those that were not taken before. */
  take(): readonly Bucket[] {
    const first = this.#told;
    this.#told = this.#buckets.length;
    return this.#buckets.slice(first);
  }

  /** All that are whole. */
  get all(): readonly Bucket[] {
    return this.#buckets;
  }
}

function widthOf(rangeMs: number, bucketMs: number | undefined): number {
  const fitting = fittingMs.find((width) => rangeMs / width <= usualBuckets) ?? Math.ceil(rangeMs / usualBuckets);
  return Math.max(1, bucketMs ?? fitting, Math.ceil(rangeMs / mostBuckets));
}
