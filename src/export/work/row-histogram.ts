/**
 * Counts the written rows in 60 equal periods of the export's time range, for display. If only the number of rows in
 * several periods together is known, the rows are divided evenly among these periods.
 */
import type { TimeRange } from '../../base/time-range.ts';
import { type CommitRecord, recordKey } from '../../destination/commit-record.ts';
import type { MessageHistogram } from '../../service/jobs/job-gathering.ts';

interface RowSpan extends TimeRange {
  readonly rows: number;
}

export const rowSlices = 60;
/** Row count that marks a period as unknown, because no commit record covers the period. */
export const unknownRows = -1;

export class RowHistogram {
  readonly #range: TimeRange;
  /** Row counts by period, for each commit record whose search returned a histogram. */
  readonly #fine = new Map<string, ReadonlyMap<number, number>>();

  constructor({ fromMs, toMs }: TimeRange) {
    this.#range = { fromMs, toMs };
  }

  /** Stores the histogram for a commit record. */
  learn(record: CommitRecord, found: MessageHistogram | undefined): void {
    const spans = found && spansOf(record, found);
    if (spans) this.#fine.set(recordKey(record), this.#spread([spanOf(record, 0), ...spans]));
  }

  /** Returns the row count of each period in chronological order, or an empty list if there are no commit records. */
  read(records: readonly CommitRecord[]): readonly number[] {
    if (records.length === 0) return [];
    const counts = Array.from({ length: rowSlices }, () => unknownRows);
    for (const record of records) {
      const rows = this.#fine.get(recordKey(record)) ?? this.#spread([spanOf(record, record.written)]);
      for (const [slice, count] of rows) counts[slice] = Math.max(0, counts[slice] ?? 0) + count;
    }
    return counts;
  }

  /** Divides the rows of each time span among the 60 periods, and adds up the rows of each period. */
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

  /** Converts a time to a position in the time range. Position 0 is the start, and position `rowSlices` is the end. */
  #sliceAt(timeMs: number): number {
    const { fromMs, toMs } = this.#range;
    return ((timeMs - fromMs) * rowSlices) / (toMs - fromMs);
  }
}

function spanOf({ fromMs, toMs }: TimeRange, rows: number): RowSpan {
  return { fromMs, toMs, rows };
}

/**
 * Distributes the written rows of a commit record over the periods of the service's histogram. Returns undefined if the
 * histogram does not match the number of written rows.
 */
function spansOf(
  { fromMs, toMs, written }: CommitRecord,
  { buckets }: MessageHistogram,
): readonly RowSpan[] | undefined {
  const spans = buckets
    .filter(({ startMs }) => startMs >= fromMs && startMs < toMs)
    .map(({ startMs, lengthMs, count }) => ({
      fromMs: startMs,
      toMs: Math.min(toMs, startMs + lengthMs),
      rows: count,
    }));
  // A period of the histogram that begins before the interval is ignored, because its count includes rows outside the
  // interval. Rows of the interval that no other period counts must therefore lie before the first of the other
  // periods.
  const others = written - spans.reduce((sum, { rows }) => sum + rows, 0);
  const [first] = spans;
  if (!first || others < 0) return undefined;
  if (others === 0) return spans;
  return first.fromMs > fromMs ? [{ fromMs, toMs: first.fromMs, rows: others }, ...spans] : undefined;
}
