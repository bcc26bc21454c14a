/**
 * A search that asks its filter about each message of a range, one after the other in the order of the range's time. Where its matches
 * are is written down: nobody looks at a message twice, and pages are read from that.
 */
import type { Filter, Row } from '../query/row.ts';
import { Effort, unitsPerLook } from './effort.ts';
import type { MessagePage, Search, SearchRange, Telling } from './log-data.ts';
import { PagePlan, type RowWriter } from './message-page.ts';
import { RankChunks } from './rank-chunks.ts';

/** Messages by their ranks. */
export interface SearchedRows extends RowWriter {
  /** Length of `_raw`. */
  rawBytesOf(rank: number): number;
  row(rank: number): Row;
}

/** Messages in the order of a range's time, the newest first: places count from 0. */
export interface RowOrder {
  /** The place of the first message that is older than `timeMs`. */
  placeOf(timeMs: number): number;
  timeAt(place: number): number;
  rankAt(place: number): number;
}

export class RowSearch implements Search {
  readonly #rows: SearchedRows;
  readonly #order: RowOrder;
  readonly #fromMs: number;
  readonly #filter: Filter;
  readonly #matches = new RankChunks();
  /** The place at which it is given up. */
  readonly #last: number;
  /** The place of what it looks at next. */
  #next: number;
  #reachedMs: number;
  #scannedBytes = 0;
  #isGivenUp = false;

  constructor(rows: SearchedRows, order: RowOrder, range: SearchRange, filter: Filter, mostLooks: number) {
    this.#rows = rows;
    this.#order = order;
    this.#fromMs = range.fromMs;
    this.#filter = filter;
    this.#next = order.placeOf(range.toMs);
    this.#last = this.#next + mostLooks;
    this.#reachedMs = range.toMs;
  }

  get found(): number {
    return this.#matches.size;
  }

  get reachedMs(): number {
    return this.#reachedMs;
  }

  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  get scannedBytes(): number {
    return this.#scannedBytes;
  }

  advance(downToMs: number, mostMatches: number, telling?: Telling, effort = new Effort()): void {
    const targetMs = Math.max(downToMs, this.#fromMs);
    if (targetMs >= this.#reachedMs || this.found >= mostMatches || this.#isGivenUp) return;
    const order = this.#order;
    const target = order.placeOf(targetMs);
    const end = Math.min(target, this.#last);
    while (this.#next < end && this.found < mostMatches && !effort.isSpent) {
      this.#look(order.rankAt(this.#next++), telling, effort);
    }
    this.#isGivenUp = this.#next === this.#last && this.#last < target;
    this.#reachedMs = this.#next < target ? order.timeAt(this.#next) + 1 : targetMs;
  }

  #look(rank: number, telling: Telling | undefined, effort: Effort): void {
    const bytes = this.#rows.rawBytesOf(rank);
    this.#scannedBytes += bytes;
    effort.spend(unitsPerLook(this.#filter, bytes));
    const row = this.#rows.row(rank);
    if (!this.#filter.matches(row)) return;
    this.#matches.add(rank);
    if (!telling) return;
    effort.spend(unitsPerLook(telling, bytes));
    telling.each(row, 1);
  }

  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage {
    const plan = new PagePlan(this.#rows, limit, maxBytes, withRaw);
    this.#matches.each(offset, (rank) => plan.add(rank));
    return plan.page();
  }
}
