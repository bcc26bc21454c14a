/**
 * Decides what happens to each row of a search, and adds up the figures that `search-verdict.ts` judges (E6).
 *
 * A cut search has only part of its oldest millisecond (E4), which is known after the last row. Rows of the oldest millisecond are
 * therefore held until an older row comes. If the start of the counted rows is known before, as with whole buckets, no row is held.
 *
 * `interval-rows.ts` keeps the held rows and writes.
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

/** Decision about a row. */
export type RowFate =
  | 'write'
  /** The row was received before, or is outside the interval. */
  | 'drop'
  /** The row is held until its use is known. */
  | 'hold'
  /** The held rows are written first, in order; then this row is held. */
  | 'holdInstead';

/** Figures of a completely read search. `received` is the sum of `written`, `outside`, `duplicates` and `left`. */
export interface RunFigures {
  readonly received: number;
  /** Duplicates that the reader caused: a page lacked rows, so the next page was requested too early. */
  readonly overlapping: number;
  readonly written: number;
  readonly outside: number;
  readonly duplicates: number;
  /** Duplicates of written rows. */
  readonly duplicatesOfWritten: number;
  /** Rows of the interval before the committed part. The next search finds them again. */
  readonly left: number;
  /** Rows outside at the exact end of the interval (E10). */
  readonly atEnd: number;
  /** Time of the first other row outside, in the time base of the search. */
  readonly strayMs: number | undefined;
  /** Oldest time inside the interval, in the time base of the search. */
  readonly oldestMs: number | undefined;
  /** True if a row was newer than the row before it. */
  readonly isDisordered: boolean;
  /** True if no repeated row can have been missed (E9). */
  readonly areDuplicatesSure: boolean;
  /** Figures of the written rows. */
  readonly messages: MessageFigures;
  /** The same figures by slices of message time; undefined without slices. */
  readonly slices: SlicedFigures | undefined;
  /** Written messages that were repeated; undefined if they exceed the maximum of a record. */
  readonly repeated: readonly RepeatedMessage[] | undefined;
}

export interface RunTallyOptions {
  readonly interval: Interval;
  readonly byReceiptTime: boolean;
  readonly duplicates: Duplicates;
  /** Rows that may be left for the next search: none, the oldest millisecond, or all before a time. */
  readonly left: 'nothing' | 'oldest' | { readonly beforeMs: number };
  /** Length in ms of the slices of message time (E6); undefined by receipt time. */
  readonly sliceMs: number | undefined;
}

export class RunTally {
  readonly #options: RunTallyOptions;
  #mayLeave: RunTallyOptions['left'];
  #received = 0;
  #overlapping = 0;
  /** True while all rows of the page were received before. */
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
  /** Bytes of the held rows, all of the oldest millisecond; undefined if a held row has no size. */
  #heldBytes: number | undefined = 0;
  readonly #repeated = new Map<string, RepeatedMessage>();
  #areRepeatedKnown = true;

  constructor(options: RunTallyOptions) {
    assert(!options.byReceiptTime || options.left === 'nothing', 'by receipt time nothing can be left');
    this.#options = options;
    this.#writtenSums = new SliceSums(options.sliceMs ?? Number.POSITIVE_INFINITY);
    this.#mayLeave = options.left;
  }

  /** Oldest time of the rows inside the interval; undefined before the first. */
  get oldestMs(): number | undefined {
    return this.#oldestMs;
  }

  /** Leaves all rows before a time. No such row may have been received. The caller writes the held rows. */
  leaveBefore(beforeMs: number): void {
    assert(this.#oldestMs === undefined || this.#oldestMs >= beforeMs, 'rows that are to be left may be written');
    this.#mayLeave = { beforeMs };
    if (this.#held > 0) this.#writeHeld(this.#oldestMs as number);
  }

  /** Called before the first row of each page. */
  beginPage(): void {
    this.#isPageRepeated = true;
    this.#repeatedAtStart = 0;
  }

  /** Number of rows at the start of the page that were received before. */
  get repeatedAtStart(): number {
    return this.#repeatedAtStart;
  }

  /** Called when the previous page lacked rows, so that the repeated rows at the start of this page were requested twice. */
  overlaps(): void {
    this.#overlapping += this.#repeatedAtStart;
  }

  /** Counts a row that is not written. */
  row(row: PageRow): void {
    this.take(row);
  }

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

  /** Figures of all rows. `heldAreWritten`: held rows count as written, otherwise as left. */
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

  /** Repeated messages. Held rows are all rows of the oldest millisecond. */
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
    return typeof this.#mayLeave === 'object' && timeMs < this.#mayLeave.beforeMs;
  }

  /** The interval's last millisecond is never held: no part newer than it could be committed. */
  #isHeld(timeMs: number): boolean {
    const lastMs = this.#options.interval.toMs - 1;
    return this.#mayLeave === 'oldest' && timeMs === this.#oldestMs && timeMs < lastMs;
  }

  /** Counts the held rows, all of one millisecond, as written. */
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

/** Repeated messages of several searches; undefined if they exceed the maximum of a record. */
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
