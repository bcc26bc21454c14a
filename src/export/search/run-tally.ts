/**
 * Decides what happens to each row of a search (write, hold or drop), and adds up the figures that `search-verdict.ts` judges (E6).
 *
 * If the service cuts a search, the rows of the oldest millisecond are incomplete (E4). Which millisecond is the oldest is known only after
 * the last row. The rows of the currently oldest millisecond are therefore held back until an older row arrives. No row is held back if the
 * start of the counted rows is known in advance, as with whole histogram buckets.
 *
 * `interval-rows.ts` keeps the held rows and writes them.
 */
import { assert } from '../../base/assert.ts';
import { LogfleetError } from '../../base/errors.ts';
import {
  type MessageFigures,
  maxRepeatedMessages,
  type RepeatedMessage,
  sumOfFigures,
} from '../../destination/commit-record.ts';
import { joinSlices, type SlicedFigures, type SliceFigures, SliceSums } from '../../destination/slice-figures.ts';
import type { PageRow } from '../../service/pages/page-row.ts';
import type { Duplicates } from './duplicates.ts';
import type { Interval } from './message-limit.ts';

/** Decision about one row of a search: write it to a file, drop it, or hold it in memory. */
export type RowFate =
  | 'write'
  /** The row is not written: it was received before, or its time is outside the interval. */
  | 'drop'
  /** The row is kept in memory until it is known whether its millisecond is complete. */
  | 'hold'
  /** The rows held in memory so far are written in their order. Then this row is held in their place. */
  | 'holdInstead';

/** Figures of a search whose rows are completely read. `received` is the sum of `written`, `outside`, `duplicates` and `left`. */
export interface RunFigures {
  readonly received: number;
  /**
   * Number of rows that were requested twice because the page before them had fewer rows than requested, so that the next page started too
   * early.
   */
  readonly overlapping: number;
  readonly written: number;
  readonly outside: number;
  readonly duplicates: number;
  /** Number of repeated rows that were dropped because their first copy was written. */
  readonly duplicatesOfWritten: number;
  /** Number of rows inside the interval but older than the part to be committed. The next search finds these rows again. */
  readonly left: number;
  /** Number of rows whose time is exactly the end of the interval, which the interval excludes (E10). */
  readonly atEnd: number;
  /** Time of the first row that lies outside the interval and not exactly at its end, in the time base of the search. */
  readonly strayMs: number | undefined;
  /** Oldest time of the rows inside the interval, in the time base of the search. */
  readonly oldestMs: number | undefined;
  /** True if a row was newer than the row before it, so that rows were not in order of time. */
  readonly isDisordered: boolean;
  /** True if each repeated row was certainly recognized (E9). */
  readonly areDuplicatesSure: boolean;
  /** Figures of all written rows. */
  readonly messages: MessageFigures;
  /** Figures of the written rows for each slice of message time; undefined for a search by receipt time. */
  readonly slices: SlicedFigures | undefined;
  /** Written messages that were received more than once; undefined if there are more than a commit record can list. */
  readonly repeated: readonly RepeatedMessage[] | undefined;
}

export interface RunTallyOptions {
  readonly interval: Interval;
  readonly byReceiptTime: boolean;
  readonly duplicates: Duplicates;
  /** Rows that this search leaves to the next search: none, those of the oldest millisecond, or all rows before a time. */
  readonly left: 'nothing' | 'oldest' | { readonly beforeMs: number };
  /** Length in ms of the time slices in which rows are counted (E6); undefined for a search by receipt time. */
  readonly sliceMs: number | undefined;
}

export class RunTally {
  readonly #options: RunTallyOptions;
  #received = 0;
  #overlapping = 0;
  /** True while every row of the current page had already been received from an earlier page. */
  #isPageRepeated = true;
  #repeatedAtStart = 0;
  #written = 0;
  #outside = 0;
  #duplicates = 0;
  #duplicatesOfWritten = 0;
  #left = 0;
  #atEnd = 0;
  #strayMs: number | undefined;
  #held = 0;
  #duplicatesOfHeld = 0;
  #oldestMs: number | undefined;
  #lastMs = Number.POSITIVE_INFINITY;
  #isDisordered = false;
  readonly #writtenSums: SliceSums;
  /** Total size of the held rows, all of the oldest millisecond; undefined if a held row has no size. */
  #heldBytes: number | undefined = 0;
  readonly #repeated = new Map<string, RepeatedMessage>();
  #areRepeatedKnown = true;

  constructor(options: RunTallyOptions) {
    assert(!options.byReceiptTime || options.left === 'nothing', 'by receipt time nothing can be left');
    this.#options = options;
    this.#writtenSums = new SliceSums(options.sliceMs ?? Number.POSITIVE_INFINITY);
  }

  /** Oldest time of the rows inside the interval; undefined until such a row arrives. */
  get oldestMs(): number | undefined {
    return this.#oldestMs;
  }

  /** Begins a page of rows. The caller calls this method before the first row of each page. */
  beginPage(): void {
    this.#isPageRepeated = true;
    this.#repeatedAtStart = 0;
  }

  /** Number of rows at the start of the current page that were received before. */
  get repeatedAtStart(): number {
    return this.#repeatedAtStart;
  }

  /** Reports that the previous page lacked rows. The repeated rows at the start of the current page were therefore requested twice. */
  overlaps(): void {
    this.#overlapping += this.#repeatedAtStart;
  }

  /** Counts a row, and decides what happens to it. */
  take(row: PageRow): RowFate {
    const { byReceiptTime, duplicates } = this.#options;
    if (row.messageTimeMs > this.#lastMs) this.#isDisordered = true;
    this.#lastMs = row.messageTimeMs;
    const timeMs = byReceiptTime ? receiptTimeOf(row) : row.messageTimeMs;
    const comesAgain = duplicates.comesAgain(row);
    this.#received++;
    this.#isPageRepeated &&= comesAgain;
    if (comesAgain) {
      if (this.#isPageRepeated) this.#repeatedAtStart++;
      this.#comesAgain(row, timeMs);
      return 'drop';
    }
    return this.#isOutside(timeMs) ? this.#outsideAt(timeMs) : this.#inside(row, timeMs);
  }

  /**
   * Returns the figures of all rows of the search. `heldAreWritten` tells whether rows held in memory count as written or as left to the
   * next search.
   */
  figures(heldAreWritten: boolean): RunFigures {
    const held = this.#held;
    const slices = this.#slices(heldAreWritten);
    const { sliceMs } = this.#options;
    return {
      received: this.#received,
      overlapping: this.#overlapping,
      written: this.#written + (heldAreWritten ? held : 0),
      outside: this.#outside,
      duplicates: this.#duplicates,
      duplicatesOfWritten: this.#duplicatesOfWritten + (heldAreWritten ? this.#duplicatesOfHeld : 0),
      left: this.#left + (heldAreWritten ? 0 : held),
      atEnd: this.#atEnd,
      strayMs: this.#strayMs,
      oldestMs: this.#oldestMs,
      isDisordered: this.#isDisordered,
      areDuplicatesSure: this.#options.duplicates.isSure,
      messages: sumOfFigures(slices),
      slices: sliceMs === undefined ? undefined : { lengthMs: sliceMs, slices },
      repeated: this.#areRepeatedKnown ? this.#repeatedOf(heldAreWritten) : undefined,
    };
  }

  #slices(heldAreWritten: boolean): readonly SliceFigures[] {
    const { slices } = this.#writtenSums;
    if (!heldAreWritten || this.#held === 0) return slices;
    const held = new SliceSums(this.#options.sliceMs ?? Number.POSITIVE_INFINITY);
    held.addMany(this.#oldestMs as number, this.#held, this.#heldBytes);
    return joinSlices([slices, held.slices]);
  }

  /** Messages that were received more than once and written. The held rows are all rows of the oldest millisecond. */
  #repeatedOf(heldAreWritten: boolean): readonly RepeatedMessage[] {
    const all = [...this.#repeated.values()];
    return heldAreWritten || this.#held === 0 ? all : all.filter(({ atMs }) => atMs !== this.#oldestMs);
  }

  #comesAgain(row: PageRow, timeMs: number): void {
    this.#duplicates++;
    if (this.#isOutside(timeMs) || this.#isLeft(timeMs)) return;
    if (this.#isHeld(timeMs)) this.#duplicatesOfHeld++;
    else this.#duplicatesOfWritten++;
    this.#remember(row);
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

  #outsideAt(timeMs: number): RowFate {
    this.#outside++;
    if (timeMs === this.#options.interval.toMs) this.#atEnd++;
    else this.#strayMs ??= timeMs;
    return 'drop';
  }

  #inside(row: PageRow, timeMs: number): RowFate {
    const heldMs = this.#oldestMs;
    const isOlder = heldMs === undefined || timeMs < heldMs;
    if (isOlder) this.#oldestMs = timeMs;
    if (this.#isLeft(timeMs)) {
      this.#left++;
      return 'drop';
    }
    if (!this.#isHeld(timeMs)) {
      this.#written++;
      this.#writtenSums.add(row.messageTimeMs, row.size);
      return 'write';
    }
    if (!isOlder || this.#held === 0) {
      this.#held++;
      this.#heldBytes = sumOf(this.#heldBytes, row.size);
      return 'hold';
    }
    this.#writeHeld(heldMs as number);
    this.#held = 1;
    this.#heldBytes = row.size;
    return 'holdInstead';
  }

  #isLeft(timeMs: number): boolean {
    const { left } = this.#options;
    return typeof left === 'object' && timeMs < left.beforeMs;
  }

  /**
   * Returns whether a row must be held back. Rows of the interval's newest millisecond are always written: without them nothing could be
   * committed.
   */
  #isHeld(timeMs: number): boolean {
    const { left, interval } = this.#options;
    const lastMs = interval.toMs - 1;
    return left === 'oldest' && timeMs === this.#oldestMs && timeMs < lastMs;
  }

  /** Counts the held rows as written. All of them are in one millisecond. */
  #writeHeld(heldMs: number): void {
    this.#written += this.#held;
    this.#duplicatesOfWritten += this.#duplicatesOfHeld;
    this.#writtenSums.addMany(heldMs, this.#held, this.#heldBytes);
    this.#held = 0;
    this.#heldBytes = 0;
    this.#duplicatesOfHeld = 0;
  }
}

function sumOf(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right;
}

/** Repeated messages of several searches together; undefined if there are more than a commit record can list. */
export function sumOfRepeated(all: readonly Pick<RunFigures, 'repeated'>[]): readonly RepeatedMessage[] | undefined {
  const repeated = all.flatMap((figures) => figures.repeated ?? []);
  const areKnown = all.every((figures) => figures.repeated !== undefined);
  return areKnown && repeated.length <= maxRepeatedMessages ? repeated : undefined;
}

function receiptTimeOf({ receiptTimeMs, messageId }: PageRow): number {
  if (receiptTimeMs !== undefined) return receiptTimeMs;
  throw new LogfleetError({
    code: 'export.receiptTimeMissing',
    message: `Message ${messageId} has no _receipttime, but the export searches by receipt time: keep the field in the query, or search by message time.`,
    handling: { kind: 'stall' },
    reason: 'ReceiptTimeMissing',
  });
}
