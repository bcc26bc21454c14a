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

/** What a search gave, all of it read. `received` is all the others together. */
export interface RunFigures {
  readonly received: number;
  readonly written: number;
  readonly outside: number;
  readonly duplicates: number;
  /** Of these, those of rows that are written. */
  readonly duplicatesOfWritten: number;
  /** Rows of the interval older than what is committed: the next search has them again. */
  readonly left: number;
  /** Of the rows outside, those at the very end of the interval (E10). */
  readonly atEnd: number;
  /** In the time that is searched by, inside the interval. */
  readonly oldestMs: number | undefined;
  /** Whether a row was newer than the one before. */
  readonly isDisordered: boolean;
  /** Whether no row can have come again unnoticed (E9). */
  readonly areDuplicatesSure: boolean;
}

export interface RunTallyOptions {
  readonly interval: Interval;
  readonly byReceiptTime: boolean;
  readonly duplicates: Duplicates;
  /** What may turn out to be left for the next search: nothing, the oldest millisecond, or all before a moment. */
  readonly left: 'nothing' | 'oldest' | { readonly beforeMs: number };
}

export class RunTally {
  readonly #options: RunTallyOptions;
  #mayLeave: RunTallyOptions['left'];
  #received = 0;
  #written = 0;
  #outside = 0;
  #duplicates = 0;
  #duplicatesOfWritten = 0;
  #left = 0;
  #atEnd = 0;
  #held = 0;
  #duplicatesOfHeld = 0;
  #oldestMs: number | undefined;
  #lastMs = Number.POSITIVE_INFINITY;
  #isDisordered = false;

  constructor(options: RunTallyOptions) {
    assert(!options.byReceiptTime || options.left === 'nothing', 'by receipt time nothing can be left');
    this.#options = options;
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

  take(row: PageRow): RowFate {
    const { interval, byReceiptTime, duplicates } = this.#options;
    this.#received++;
    if (row.messageTimeMs > this.#lastMs) this.#isDisordered = true;
    this.#lastMs = row.messageTimeMs;
    const timeMs = byReceiptTime ? receiptTimeOf(row) : row.messageTimeMs;
    if (duplicates.comesAgain(row)) {
      this.#comesAgain(timeMs);
      return 'drop';
    }
    if (timeMs < interval.fromMs || timeMs >= interval.toMs) {
      this.#outside++;
      if (timeMs === interval.toMs) this.#atEnd++;
      return 'drop';
    }
    return this.#inside(timeMs);
  }

  /** Of all rows. Held ones are left for the next search, or to be written, as `heldAreWritten` says. */
  figures(heldAreWritten: boolean): RunFigures {
    const held = this.#held;
    return {
      received: this.#received,
      written: this.#written + (heldAreWritten ? held : 0),
      outside: this.#outside,
      duplicates: this.#duplicates,
      duplicatesOfWritten: this.#duplicatesOfWritten + (heldAreWritten ? this.#duplicatesOfHeld : 0),
      left: this.#left + (heldAreWritten ? 0 : held),
      atEnd: this.#atEnd,
      oldestMs: this.#oldestMs,
      isDisordered: this.#isDisordered,
      areDuplicatesSure: this.#options.duplicates.isSure,
    };
  }

  #comesAgain(timeMs: number): void {
    const { interval } = this.#options;
    this.#duplicates++;
    if (timeMs < interval.fromMs || timeMs >= interval.toMs || this.#isLeft(timeMs)) return;
    if (this.#isHeld(timeMs)) this.#duplicatesOfHeld++;
    else this.#duplicatesOfWritten++;
  }

  #inside(timeMs: number): RowFate {
    const isOlder = this.#oldestMs === undefined || timeMs < this.#oldestMs;
    if (isOlder) this.#oldestMs = timeMs;
    if (this.#isLeft(timeMs)) {
      this.#left++;
      return 'drop';
    }
    if (!this.#isHeld(timeMs)) {
      this.#written++;
      return 'write';
    }
    const hadHeld = this.#held > 0;
    if (!isOlder || !hadHeld) {
      this.#held++;
      return 'hold';
    }
    this.#writeHeld(1);
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
  }
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
