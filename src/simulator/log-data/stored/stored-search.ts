/**
 * A search through messages that are there: goes through those of its range by message time or by receipt time, and marks the ones
 * that match. Pages and counts are read from the marks.
 *
 * Invariant: what a search keeps is a bit for each message that there is at most.
 */
import type { Filter, Row } from '../../query/row.ts';
import type { MessagePage, Search, SearchRange } from '../log-data.ts';
import { PagePlan } from '../message-page.ts';
import { RankSet } from './rank-set.ts';
import type { StoredRows } from './stored-rows.ts';

export class StoredSearch implements Search {
  readonly #rows: StoredRows;
  readonly #range: SearchRange;
  readonly #filter: Filter;
  readonly #begin: number;
  readonly #matches: RankSet;
  /** What was looked at is [begin, next) of all messages in the order of the range's time. */
  #next: number;
  #reachedMs: number;
  #scannedBytes = 0;

  constructor(rows: StoredRows, range: SearchRange, filter: Filter) {
    this.#rows = rows;
    this.#range = range;
    this.#filter = filter;
    this.#begin = this.#placeOf(range.toMs);
    this.#next = this.#begin;
    this.#reachedMs = range.toMs;
    this.#matches = range.byReceiptTime
      ? new RankSet(0, rows.count)
      : new RankSet(this.#begin, this.#placeOf(range.fromMs));
  }

  get found(): number {
    return this.#matches.size;
  }

  get reachedMs(): number {
    return this.#reachedMs;
  }

  get scannedBytes(): number {
    return this.#scannedBytes;
  }

  advance(downToMs: number, mostMatches: number, each?: (row: Row, times: number) => void): void {
    const targetMs = Math.max(downToMs, this.#range.fromMs);
    if (targetMs >= this.#reachedMs || this.found >= mostMatches) return;
    const end = this.#placeOf(targetMs);
    while (this.#next < end && this.found < mostMatches) {
      const rank = this.#rankAt(this.#next++);
      this.#scannedBytes += this.#rows.rawBytesOf(rank);
      const row = this.#rows.row(rank);
      if (!this.#filter.matches(row)) continue;
      this.#matches.add(rank);
      each?.(row, 1);
    }
    this.#reachedMs = this.#next < end ? this.#timeAt(this.#next) + 1 : targetMs;
  }

  count(fromMs: number, toMs: number): number {
    const begin = Math.max(this.#begin, this.#placeOf(toMs));
    const end = Math.min(this.#next, this.#placeOf(fromMs));
    let count = 0;
    for (let place = begin; place < end; place++) if (this.#matches.has(this.#rankAt(place))) count++;
    return count;
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
