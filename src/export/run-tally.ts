/**
 * The rows of one search, one after the other: what becomes of each, and the figures that `proof.ts` judges (E6).
 *
 * A cut search has part of its oldest millisecond alone (E4). Which one that is shows with the last row, so that rows of the oldest
 * millisecond so far are held back until an older one comes. Where it is known before from where on rows count, as with whole
 * buckets, nothing is held back.
 *
 * Leaves to others: keeping the rows that are held back, and writing.
 */
import { assert } from '../base/assert.ts';
import { LogfleetError } from '../base/errors.ts';
import {
  type MessageFigures,
  maxRepeatedMessages,
  type RepeatedMessage,
  sumOfFigures,
} from '../destination/commit-record.ts';
import {
  joinSlices,
  MessageSum,
  type SlicedFigures,
  type SliceFigures,
  SliceSums,
} from '../destination/slice-figures.ts';
import type { PageRow } from '../service/page-row.ts';
import type { Interval } from './cut.ts';
import type { Duplicates } from './duplicates.ts';

/** What becomes of a row. */
export type RowFate =
  | 'write'
  /** It came before, or does not belong to the interval. */
  | 'drop'
  /** To be kept until it is known. */
  | 'hold'
  /** What was held back is written first, in its order; then this one is held. */
  | 'holdInstead';

/** What a search gave, all of it read. `received` is the sum of `written`, `outside`, `duplicates` and `left`. */
export interface RunFigures {
  readonly received: number;
  /** Of the duplicates, those that the reader made itself: a page lacked as many rows, so that the next one was asked for too early. */
  readonly overlapping: number;
  readonly written: number;
  readonly outside: number;
  readonly duplicates: number;
  /** Of these, those of rows that are written. */
  readonly duplicatesOfWritten: number;
  /** Rows of the interval older than what is committed: the next search has them again. */
  readonly left: number;
  /** Of the rows outside, those at the very end of the interval (E10). */
  readonly atEnd: number;
  /** Time of the first other row outside, in the time that is searched by. */
  readonly strayMs: number | undefined;
  /** In the time that is searched by, inside the interval. */
  readonly oldestMs: number | undefined;
  /** Whether a row was newer than the one before. */
  readonly isDisordered: boolean;
  /** Whether no row can have come again unnoticed (E9). */
  readonly areDuplicatesSure: boolean;
  /** Of the rows that are written. */
  readonly messages: MessageFigures;
  /** The same figures by slices of message time; undefined where the tally has no slices. */
  readonly slices: SlicedFigures | undefined;
  /** Of the rows that are written, those that came again; undefined where they are more than a record names. */
  readonly repeated: readonly RepeatedMessage[] | undefined;
}

export interface RunTallyOptions {
  readonly interval: Interval;
  readonly byReceiptTime: boolean;
  readonly duplicates: Duplicates;
  /** What may turn out to be left for the next search: nothing, the oldest millisecond, or all before a moment. */
  readonly left: 'nothing' | 'oldest' | { readonly beforeMs: number };
  /** Length of the slices of message time by which rows are added up (E6); undefined by receipt time. */
  readonly sliceMs: number | undefined;
}

export class RunTally {
  readonly #options: RunTallyOptions;
  #mayLeave: RunTallyOptions['left'];
  #received = 0;
  #overlapping = 0;
  /** All rows of the page so far came before. */
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
  /** Of the rows that are held back, all of one millisecond. */
  #heldSum = new MessageSum();
  readonly #repeated = new Map<string, RepeatedMessage>();
  #areRepeatedKnown = true;

  constructor(options: RunTallyOptions) {
    assert(!options.byReceiptTime || options.left === 'nothing', 'by receipt time nothing can be left');
    this.#options = options;
    this.#writtenSums = new SliceSums(options.sliceMs ?? Number.POSITIVE_INFINITY);
    this.#mayLeave = options.left;
  }

  /** Of the rows inside the interval so far; undefined before the first. */
  get oldestMs(): number | undefined {
    return this.#oldestMs;
  }

  /** It is known now that all before a moment is left, none of which has come yet. What was held back is to be written. */
  leaveBefore(beforeMs: number): void {
    assert(this.#oldestMs === undefined || this.#oldestMs >= beforeMs, 'rows that are to be left may be written');
    this.#mayLeave = { beforeMs };
    this.#writeHeld(0);
  }

  /** The next row is the first of a page. */
  beginPage(): void {
    this.#isPageRepeated = true;
    this.#repeatedAtStart = 0;
  }

  /** With how many rows the page began that came before. */
  get repeatedAtStart(): number {
    return this.#repeatedAtStart;
  }

  /** The page before lacked rows: those with which this page began were asked for twice. */
  overlaps(): void {
    this.#overlapping += this.#repeatedAtStart;
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

  /** Of all rows. Held ones are left for the next search, or to be written, as `heldAreWritten` says. */
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
    held.take(this.#heldSum);
    return joinSlices([slices, held.slices]);
  }

  /** Held rows are the oldest ones, and all rows of their millisecond are held. */
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
    const isOlder = this.#oldestMs === undefined || timeMs < this.#oldestMs;
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
    const hadHeld = this.#held > 0;
    if (!isOlder || !hadHeld) {
      this.#held++;
      this.#heldSum.add(row.messageTimeMs, row.size);
      return 'hold';
    }
    this.#writeHeld(1);
    this.#heldSum.add(row.messageTimeMs, row.size);
    return 'holdInstead';
  }

  #isLeft(timeMs: number): boolean {
    return typeof this.#mayLeave === 'object' && timeMs < this.#mayLeave.beforeMs;
  }

  /** Behind the last millisecond there is nothing that could be committed without it. */
  #isHeld(timeMs: number): boolean {
    const lastMs = this.#options.interval.toMs - 1;
    return this.#mayLeave === 'oldest' && timeMs === this.#oldestMs && timeMs < lastMs;
  }

  /** What was held is written; so many others are held from now on. */
  #writeHeld(heldNow: number): void {
    this.#written += this.#held;
    this.#duplicatesOfWritten += this.#duplicatesOfHeld;
    this.#held = heldNow;
    this.#duplicatesOfHeld = 0;
    this.#writtenSums.take(this.#heldSum);
    this.#heldSum = new MessageSum();
  }
}

/** Undefined where they are more than a record names. */
export function sumOfRepeated(all: readonly Pick<RunFigures, 'repeated'>[]): readonly RepeatedMessage[] | undefined {
  const repeated = all.flatMap((figures) => figures.repeated ?? []);
  const areKnown = all.every((figures) => figures.repeated !== undefined);
  return areKnown && repeated.length <= maxRepeatedMessages ? repeated : undefined;
}

function receiptTimeOf({ receiptTimeMs, messageId }: PageRow): number {
  if (receiptTimeMs !== undefined) return receiptTimeMs;
  throw new LogfleetError({
    code: 'export.receiptTimeMissing',
    message: `Message ${messageId} has no _receipttime, by which is searched; keep the field in the query, or search by message time.`,
    handling: { kind: 'stall' },
    reason: 'ReceiptTimeMissing',
  });
}
