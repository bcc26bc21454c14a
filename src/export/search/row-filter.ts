/**
 * Decides which rows of a search are written. Counts all rows, because `judge` decides by these counts whether the
 * search is complete (E6).
 */
import { assert } from '../../base/assert.ts';
import { failure } from '../../base/errors.ts';
import type { TimeRange } from '../../base/time-range.ts';
import {
  type MessageFigures,
  maxRepeatedMessages,
  type RepeatedMessage,
  sumOfFigures,
} from '../../destination/commit-record.ts';
import { type SlicedFigures, SliceSums } from '../../destination/slice-figures.ts';
import type { PageRow } from '../../service/pages/page-row.ts';
import type { Duplicates } from './duplicates.ts';

/**
 * Counts and times of the rows of a search. Each received row counts either as written, as outside the interval, as a
 * duplicate, or as left to the next search.
 */
export interface RowFigures {
  readonly received: number;
  /** Number of rows that appeared in two pages, even though the service stores each of these rows only once. */
  readonly overlapping: number;
  readonly written: number;
  readonly outside: number;
  readonly duplicates: number;
  /** Number of duplicates of written rows. */
  readonly duplicatesOfWritten: number;
  /** Number of rows that the next search must read, because the service cut this search short (E4). */
  readonly left: number;
  /** Number of rows whose time is exactly the (exclusive) end of the interval (E10). */
  readonly atEnd: number;
  /**
   * Time of the first row that was received from outside the interval, or undefined if there is none. A row exactly at
   * the end of the interval is ignored.
   */
  readonly strayMs: number | undefined;
  /** Oldest time among the rows in the interval: message time, or receipt time for searches by receipt time. */
  readonly oldestMs: number | undefined;
  /** True if a row was newer than the row before it. */
  readonly isDisordered: boolean;
  /** True if it is certain that every duplicate was detected (E9). */
  readonly areDuplicatesSure: boolean;
  /** Count, sizes and times of all written rows. */
  readonly messages: MessageFigures;
  /** Counts, sizes and times of the rows in short periods (E6); undefined for aggregation records. */
  readonly slices: SlicedFigures | undefined;
  /** Messages that were received more than once; undefined if there are too many. */
  readonly repeated: readonly RepeatedMessage[] | undefined;
}

export interface RowFilterOptions {
  readonly interval: TimeRange;
  readonly byReceiptTime: boolean;
  readonly duplicates: Duplicates;
  /** Rows older than this time are left to the next search (E4). Undefined if this search writes all its rows. */
  readonly writtenFromMs: number | undefined;
  /** Length in ms of the periods (time slices) in which rows are counted (E6). */
  readonly sliceMs: number;
}

export const noRows = {
  ...{ received: 0, overlapping: 0, written: 0, outside: 0, duplicates: 0, duplicatesOfWritten: 0, left: 0, atEnd: 0 },
  strayMs: undefined as number | undefined,
  oldestMs: undefined as number | undefined,
  isDisordered: false,
};

export class RowFilter {
  readonly #options: RowFilterOptions;
  readonly #figures = { ...noRows };
  /** True as long as all rows received from the current page have already appeared in earlier pages. */
  #isPageRepeated = true;
  /** Number of rows at the start of the current page that have already appeared in earlier pages. */
  repeatedAtStart = 0;
  #lastMs = Number.POSITIVE_INFINITY;
  readonly #writtenSums: SliceSums;
  readonly #repeated = new Map<string, RepeatedMessage>();
  #areRepeatedKnown = true;

  constructor(options: RowFilterOptions) {
    assert(
      !options.byReceiptTime || options.writtenFromMs === undefined,
      'a search by receipt time must write all its rows, because the next search would not return them',
    );
    this.#options = options;
    this.#writtenSums = new SliceSums(options.sliceMs);
  }

  /** Must be called before the first row of each page. */
  beginPage(): void {
    this.#isPageRepeated = true;
    this.repeatedAtStart = 0;
  }

  /**
   * Counts the repeated rows at the start of the current page as an overlap with the previous page. Called if rows
   * changed their positions after the previous page was read.
   */
  overlaps(): void {
    this.#figures.overlapping += this.repeatedAtStart;
  }

  /** Counts a row. Returns true if it must be written. */
  take(row: PageRow): boolean {
    const { byReceiptTime, duplicates, interval } = this.#options;
    const figures = this.#figures;
    if (row.messageTimeMs > this.#lastMs) figures.isDisordered = true;
    this.#lastMs = row.messageTimeMs;
    const timeMs = byReceiptTime ? receiptTimeOf(row) : row.messageTimeMs;
    const isDuplicate = duplicates.isDuplicate(row);
    figures.received++;
    this.#isPageRepeated &&= isDuplicate;
    if (isDuplicate) {
      if (this.#isPageRepeated) this.repeatedAtStart++;
      figures.duplicates++;
      if (this.#isOutside(timeMs) || this.#isLeft(timeMs)) return false;
      figures.duplicatesOfWritten++;
      this.#remember(row);
      return false;
    }
    if (this.#isOutside(timeMs)) {
      figures.outside++;
      if (timeMs === interval.toMs) figures.atEnd++;
      else figures.strayMs ??= timeMs;
      return false;
    }
    figures.oldestMs = Math.min(timeMs, figures.oldestMs ?? timeMs);
    if (this.#isLeft(timeMs)) {
      figures.left++;
      return false;
    }
    figures.written++;
    this.#writtenSums.add(row.messageTimeMs, row.size);
    return true;
  }

  /** Returns the counts, sizes and times of all rows so far. */
  figures(): RowFigures {
    const { slices } = this.#writtenSums;
    const { sliceMs, duplicates } = this.#options;
    return {
      ...this.#figures,
      areDuplicatesSure: duplicates.isSure,
      messages: sumOfFigures(slices),
      slices: { lengthMs: sliceMs, slices },
      repeated: this.#areRepeatedKnown ? [...this.#repeated.values()] : undefined,
    };
  }

  #remember({ messageId: id, messageTimeMs: atMs, size }: PageRow): void {
    const times = (this.#repeated.get(id)?.times ?? 0) + 1;
    if (times === 1 && this.#repeated.size === maxRepeatedMessages) this.#areRepeatedKnown = false;
    else this.#repeated.set(id, { id, atMs, ...(size === undefined ? {} : { bytes: size }), times });
  }

  #isOutside(timeMs: number): boolean {
    const { fromMs, toMs } = this.#options.interval;
    return timeMs < fromMs || timeMs >= toMs;
  }

  #isLeft(timeMs: number): boolean {
    const { writtenFromMs } = this.#options;
    return writtenFromMs !== undefined && timeMs < writtenFromMs;
  }
}

/** Returns the repeated messages of several searches, or undefined if there are too many. */
export function sumOfRepeated(all: readonly Pick<RowFigures, 'repeated'>[]): readonly RepeatedMessage[] | undefined {
  const repeated = all.flatMap((figures) => figures.repeated ?? []);
  const areKnown = all.every((figures) => figures.repeated !== undefined);
  return areKnown && repeated.length <= maxRepeatedMessages ? repeated : undefined;
}

function receiptTimeOf({ receiptTimeMs, messageId }: PageRow): number {
  if (receiptTimeMs !== undefined) return receiptTimeMs;
  const message = `Message ${messageId} has no _receipttime, but the export searches by receipt time: keep this field in the query results, or search by message time.`;
  throw failure('stall', 'export.receiptTimeMissing', message, { reason: 'ReceiptTimeMissing' });
}
