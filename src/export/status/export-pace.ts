/** Measures an export's speed over the last minute, and estimates its remaining time from the last ten minutes. */

export interface PaceSample {
  /** Monotonic time of the sample. */
  readonly atMs: number;
  /** Fraction of the export's searches that have ended, from 0 to 1. */
  readonly searchedRatio: number;
  /**
   * Expected duration in ms of the digest, which compares the written rows with the service's counts after the searches
   * (E6). It is 0 if no digest is needed, and undefined if unknown.
   */
  readonly digestMs: number | undefined;
  readonly rows: number;
  /** Size of the written rows in bytes before compression. */
  readonly bytes: number;
}

export interface Pace {
  readonly rowsPerSecond: number;
  readonly bytesPerSecond: number;
  /** Remaining time in ms; undefined if unknown. */
  readonly leftMs: number | undefined;
}

const rateSpanMs = 60_000;
const estimateSpanMs = 600_000;
/** Minimum time in ms between the two samples from which a rate is computed. */
const minSpanMs = 5_000;
/** Minimum time in ms between consecutive samples. */
const spacingMs = 2_000;

export class ExportPace {
  #samples: readonly PaceSample[] = [];

  /**
   * Adds a sample, and removes samples that are too old. Samples with more rows than the new sample are also removed,
   * because they would result in a negative speed.
   */
  add(sample: PaceSample): void {
    const oldestMs = sample.atMs - estimateSpanMs;
    const recent = this.#samples.filter(({ atMs, rows }) => atMs >= oldestMs && rows <= sample.rows);
    const [last, before] = [recent.at(-1), recent.at(-2)];
    const replacesLast = last && before && last.atMs - before.atMs < spacingMs;
    this.#samples = [...(replacesLast ? recent.slice(0, -1) : recent), sample];
  }

  /** Removes all samples, because no search is running. */
  reset(): void {
    this.#samples = [];
  }

  read(): Pace {
    const last = this.#samples.at(-1);
    const minute = last && this.#since(last, rateSpanMs);
    const long = last && this.#since(last, estimateSpanMs);
    const rate = (of: 'rows' | 'bytes') =>
      last && minute ? Math.round(((last[of] - minute[of]) * 1_000) / (last.atMs - minute.atMs)) : 0;
    return { rowsPerSecond: rate('rows'), bytesPerSecond: rate('bytes'), leftMs: last && leftMsOf(last, long) };
  }

  /**
   * Returns the oldest sample that is at most `spanMs` older than `last`, or undefined if that sample is too recent for
   * a reliable rate.
   */
  #since(last: PaceSample, spanMs: number): PaceSample | undefined {
    const first = this.#samples.find(({ atMs }) => atMs >= last.atMs - spanMs);
    return first && last.atMs - first.atMs >= minSpanMs ? first : undefined;
  }
}

/**
 * Returns the remaining time in ms for the searches and the digest (the comparison with the service's counts), or
 * undefined if unknown. `long` is the first sample of the last ten minutes.
 */
function leftMsOf(last: PaceSample, long: PaceSample | undefined): number | undefined {
  const { searchedRatio, digestMs } = last;
  if (digestMs === undefined || searchedRatio === 1) return digestMs;
  const searched = long ? searchedRatio - long.searchedRatio : 0;
  return long && searched > 0 ? digestMs + ((1 - searchedRatio) * (last.atMs - long.atMs)) / searched : undefined;
}
