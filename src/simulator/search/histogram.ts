/**
 * The buckets of a status (2.3), newest first. Each is told once and whole: when the search has passed its beginning, or can find
 * nothing more. Buckets without messages are left out.
 */
import type { Search } from '../log-data/log-data.ts';

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
  readonly #search: Search;
  readonly #fromMs: number;
  readonly #bucketMs: number;
  /** The upper end of the next bucket, a multiple of the width. */
  #nextEndMs: number;
  readonly #told: Bucket[] = [];

  /** Of what the search finds in [fromMs, toMs). */
  constructor(search: Search, fromMs: number, toMs: number, bucketMs: number | undefined) {
    this.#search = search;
    this.#fromMs = fromMs;
    this.#bucketMs = widthOf(toMs - fromMs, bucketMs);
    this.#nextEndMs = Math.ceil(toMs / this.#bucketMs) * this.#bucketMs;
  }

  /** Those that are new. `isOver`: the search goes on no further. */
  take(isOver: boolean): readonly Bucket[] {
    const first = this.#told.length;
    const { reachedMs } = this.#search;
    while (isOver ? this.#nextEndMs > this.#fromMs : this.#nextEndMs - this.#bucketMs >= reachedMs) {
      const startMs = this.#nextEndMs - this.#bucketMs;
      const count = this.#search.count(startMs, this.#nextEndMs);
      if (count > 0) this.#told.push({ startTimestamp: startMs, length: this.#bucketMs, count });
      this.#nextEndMs = startMs;
    }
    return this.#told.slice(first);
  }

  /** All that were told. */
  get all(): readonly Bucket[] {
    return this.#told;
  }
}

function widthOf(rangeMs: number, bucketMs: number | undefined): number {
  const fitting = fittingMs.find((width) => rangeMs / width <= usualBuckets) ?? Math.ceil(rangeMs / usualBuckets);
  return Math.max(1, bucketMs ?? fitting, Math.ceil(rangeMs / mostBuckets));
}
