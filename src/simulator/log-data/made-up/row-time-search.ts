/**
 * A search by message time through made-up messages, with a filter that has to be asked about each of them. Where its matches are is
 * written down: nobody looks at a message twice.
 */
import type { Filter } from '../../query/row.ts';
import { Effort, unitsPerLook } from '../effort.ts';
import type { MessagePage, Search, SearchRange, Telling } from '../log-data.ts';
import { PagePlan } from '../message-page.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { RankChunks } from './rank-chunks.ts';

export class RowTimeSearch implements Search {
  readonly #rows: MadeUpRows;
  readonly #range: SearchRange;
  readonly #filter: Filter;
  readonly #matches = new RankChunks();
  /** The rank at which it is given up. */
  readonly #last: number;
  /** What was looked at is [begin of the range, next). */
  #next: number;
  #reachedMs: number;
  #scannedBytes = 0;
  #isGivenUp = false;

  constructor(rows: MadeUpRows, range: SearchRange, filter: Filter, mostLooks: number) {
    this.#rows = rows;
    this.#range = range;
    this.#filter = filter;
    this.#next = rows.timeline.rankAt(range.toMs);
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
    const targetMs = Math.max(downToMs, this.#range.fromMs);
    if (targetMs >= this.#reachedMs || this.found >= mostMatches || this.#isGivenUp) return;
    const { timeline } = this.#rows;
    const target = timeline.rankAt(targetMs);
    const end = Math.min(target, this.#last);
    while (this.#next < end && this.found < mostMatches && !effort.isSpent) this.#look(this.#next++, telling, effort);
    this.#isGivenUp = this.#next === this.#last && this.#last < target;
    this.#reachedMs = this.#next < target ? timeline.timeOf(this.#next) + 1 : targetMs;
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
