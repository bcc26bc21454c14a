/** How fast an export is, from what was seen of it lately: rates of the last minute, and when it will be over at the pace of the last ten. */

export interface PaceSample {
  /** On the monotonic clock. */
  readonly atMs: number;
  /** Of the range, 0 to 1. */
  readonly coveredPart: number;
  readonly rows: number;
  /** Of rows as they came, before compression. */
  readonly bytes: number;
}

export interface Pace {
  readonly rowsPerSecond: number;
  readonly bytesPerSecond: number;
  /** Undefined while nobody can say. */
  readonly leftMs: number | undefined;
}

const rateSpanMs = 60_000;
const estimateSpanMs = 600_000;
/** Of less time nothing is said. */
const leastSpanMs = 5_000;
/** Samples that come closer take the place of the one before. */
const spacingMs = 2_000;

export class ExportPace {
  #samples: readonly PaceSample[] = [];

  /** What is seen now. Where less is done than before, others have changed what stands there, and it begins anew. */
  add(sample: PaceSample): void {
    const oldestMs = sample.atMs - estimateSpanMs;
    const recent = this.#samples.filter(({ atMs, rows }) => atMs >= oldestMs && rows <= sample.rows);
    const [last, before] = [recent.at(-1), recent.at(-2)];
    const replacesLast = last && before && last.atMs - before.atMs < spacingMs;
    this.#samples = [...(replacesLast ? recent.slice(0, -1) : recent), sample];
  }

  /** Forgets everything: the time until now says nothing of what comes. */
  reset(): void {
    this.#samples = [];
  }

  read(): Pace {
    const last = this.#samples.at(-1);
    const minute = last && this.#since(last, rateSpanMs);
    const long = last && this.#since(last, estimateSpanMs);
    const rate = (of: 'rows' | 'bytes') =>
      last && minute ? Math.round(((last[of] - minute[of]) * 1_000) / (last.atMs - minute.atMs)) : 0;
    const covered = last && long ? last.coveredPart - long.coveredPart : 0;
    const leftMs =
      last && long && covered > 0 ? ((1 - last.coveredPart) * (last.atMs - long.atMs)) / covered : undefined;
    return { rowsPerSecond: rate('rows'), bytesPerSecond: rate('bytes'), leftMs };
  }

  /** The oldest sample of the span; undefined where it is too young to say something. */
  #since(last: PaceSample, spanMs: number): PaceSample | undefined {
    const first = this.#samples.find(({ atMs }) => atMs >= last.atMs - spanMs);
    return first && last.atMs - first.atMs >= leastSpanMs ? first : undefined;
  }
}
