/**
 * Distribution of the written rows over the time range of an export: counts for 60 equal slices. Commit records give coarse counts, and
 * histograms of this process's searches give finer ones. The result is only shown to users.
 *
 * Invariant: every row of a commit record is counted once. Rows of a histogram bucket, or of a record without buckets, are spread evenly
 * over the slices that it overlaps. A slice has a count as soon as a record overlaps it.
 */
import { type CommitRecord, recordKey } from '../../destination/commit-record.ts';
import type { MessageHistogram } from '../../service/jobs/job-gathering.ts';
import type { Interval } from '../search/message-limit.ts';

/** Rows of `[fromMs, toMs)`. */
interface RowSpan extends Interval {
  readonly rows: number;
}

export const rowSlices = 60;
/** Count of a slice without data. */
export const unknownRows = -1;

export class RowHistogram {
  readonly #range: Interval;
  /** Numbers of rows by slice, for commit records whose searches had a histogram. */
  readonly #fine = new Map<string, ReadonlyMap<number, number>>();

  constructor({ fromMs, toMs }: Interval) {
    this.#range = { fromMs, toMs };
  }

  /** Stores the histogram of the search job whose rows a commit record lists. */
  learn(record: CommitRecord, found: MessageHistogram | undefined): void {
    const spans = found && spansOf(record, found);
    if (spans) this.#fine.set(recordKey(record), this.#spread([spanOf(record, 0), ...spans]));
  }

  /** Returns the number of rows in each slice, in order of time; empty without commit records. */
  read(records: readonly CommitRecord[]): readonly number[] {
    if (records.length === 0) return [];
    const counts = Array.from({ length: rowSlices }, () => unknownRows);
    for (const record of records) {
      const rows = this.#fine.get(recordKey(record)) ?? this.#spread([spanOf(record, record.written)]);
      for (const [slice, count] of rows) counts[slice] = Math.max(0, counts[slice] ?? 0) + count;
    }
    return counts;
  }

  /** Number of rows in each slice that the given spans of time overlap. */
  #spread(spans: readonly RowSpan[]): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const { fromMs, toMs, rows } of spans) {
      const first = Math.floor(this.#sliceAt(fromMs));
      const last = Math.max(first, Math.min(rowSlices, Math.ceil(this.#sliceAt(toMs))) - 1);
      let counted = 0;
      for (let slice = first; slice <= last; slice++) {
        const ratio = (slice + 1 - this.#sliceAt(fromMs)) / (this.#sliceAt(toMs) - this.#sliceAt(fromMs));
        const until = slice === last ? rows : Math.round(rows * ratio);
        counts.set(slice, (counts.get(slice) ?? 0) + until - counted);
        counted = until;
      }
    }
    return counts;
  }

  /** Number of slices (with fractions) between the start of the range and a time. */
  #sliceAt(timeMs: number): number {
    const { fromMs, toMs } = this.#range;
    return ((timeMs - fromMs) * rowSlices) / (toMs - fromMs);
  }
}

function spanOf({ fromMs, toMs }: Interval, rows: number): RowSpan {
  return { fromMs, toMs, rows };
}

/**
 * Splits the rows of a commit record into spans of time by its histogram. Undefined if the histogram does not match the
 * number of written rows.
 */
function spansOf(
  { fromMs, toMs, written }: CommitRecord,
  { buckets }: MessageHistogram,
): readonly RowSpan[] | undefined {
  // A bucket may extend beyond the record's end.
  const spans = buckets
    .filter(({ startMs }) => startMs >= fromMs && startMs < toMs)
    .map(({ startMs, lengthMs, count }) => ({
      fromMs: startMs,
      toMs: Math.min(toMs, startMs + lengthMs),
      rows: count,
    }));
  // The bucket that contains the record's start also has rows of the record.
  const others = written - spans.reduce((sum, { rows }) => sum + rows, 0);
  const [first] = spans;
  if (!first || others < 0) return undefined;
  if (others === 0) return spans;
  return first.fromMs > fromMs ? [{ fromMs, toMs: first.fromMs, rows: others }, ...spans] : undefined;
}
