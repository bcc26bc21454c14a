/**
 * A search through messages that are there: goes through those of its range by message time or by receipt time, and marks the ones
 * that match. Pages are read from the marks.
 *
 * Invariant: what a search keeps is a bit for each message that there is at most.
 */
import type { Filter } from '../../query/row.ts';
import { Effort, unitsPerLook } from '../effort.ts';
import type { MessagePage, Search, SearchRange, Telling } from '../log-data.ts';
import { PagePlan } from '../message-page.ts';
import { RankSet } from './rank-set.ts';
import type { StoredRows } from './stored-rows.ts';

export class StoredSearch implements Search {
  readonly #rows: StoredRows;
  readonly #range: SearchRange;
  readonly #filter: Filter;
  readonly #matches: RankSet;
  /** The place at which it is given up. */
  readonly #last: number;
  /** The place of what it looks at next, of all messages in the order of the range's time. */
  #next: number;
  #reachedMs: number;
  #scannedBytes = 0;
  #isGivenUp = false;

  constructor(rows: StoredRows, range: SearchRange, filter: Filter, mostLooks: number) {
    this.#rows = rows;
    this.#range = range;
    this.#filter = filter;
    const begin = this.#placeOf(range.toMs);
    this.#next = begin;
    this.#last = begin + mostLooks;
    this.#reachedMs = range.toMs;
    this.#matches = range.byReceiptTime ? new RankSet(0, rows.count) : new RankSet(begin, this.#placeOf(range.fromMs));
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
    const targetMs = Math.max(downToMs, this.#range.fromMs);
    if (targetMs >= this.#reachedMs || this.found >= mostMatches || this.#isGivenUp) return;
    const target = this.#placeOf(targetMs);
    const end = Math.min(target, this.#last);
    while (this.#next < end && this.found < mostMatches && !effort.isSpent) {
      this.#look(this.#rankAt(this.#next++), telling, effort);
    }
    this.#isGivenUp = this.#next === this.#last && this.#last < target;
    this.#reachedMs = this.#next < target ? this.#timeAt(this.#next) + 1 : targetMs;
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

  /** The rank of the message at a place in the order of the range's time. */
  #rankAt(place: number): number {
    return this.#range.byReceiptTime ? (this.#rows.byReceipt[place] as number) : place;
  }

  #timeAt(place: number): number {
    const rank = this.#rankAt(place);
    return this.#range.byReceiptTime ? this.#rows.receiptTimeOf(rank) : this.#rows.messageTimeOf(rank);
  }

  /** The place of the first message that is older than `timeMs`. */
  #placeOf(timeMs: number): number {
    let [low, high] = [0, this.#rows.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#timeAt(middle) >= timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
