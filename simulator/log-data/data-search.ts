/**
 * Searches log messages from the end of a time range back to its start. The search pauses each time it has used up its
 * computing time.
 */
import { Effort } from './effort.ts';
import type { JsonPage, MatchListener, MessageSearch, SearchRange } from './log-data.ts';
import { PagePlan, type RowWriter } from './message-page.ts';

/** Finds the messages that match a search, from newest to oldest. */
export interface Finder extends Pick<MessageSearch, 'found' | 'reachedMs' | 'isGivenUp' | 'scannedBytes'> {
  /**
   * Continues the search backwards. The search stops at `targetMs`, after `maxMatches` matches, or when its computing
   * time is used up.
   */
  step(targetMs: number, maxMatches: number, listener: MatchListener | undefined, effort: Effort): void;
  /**
   * Calls `take` for each match after the first `skip` matches, from newest to oldest. Stops when `take` returns false.
   */
  each(skip: number, take: (rank: number) => boolean): void;
}

export class DataSearch implements MessageSearch {
  readonly #rows: RowWriter;
  readonly #range: SearchRange;
  readonly #finder: Finder;

  constructor(rows: RowWriter, range: SearchRange, finder: Finder) {
    this.#rows = rows;
    this.#range = range;
    this.#finder = finder;
  }

  get found(): number {
    return this.#finder.found;
  }

  get reachedMs(): number {
    return this.#finder.reachedMs;
  }

  get isGivenUp(): boolean {
    return this.#finder.isGivenUp;
  }

  get scannedBytes(): number {
    return this.#finder.scannedBytes;
  }

  advance(downToMs: number, maxMatches: number, listener?: MatchListener, effort = new Effort()): void {
    const finder = this.#finder;
    const targetMs = Math.max(downToMs, this.#range.fromMs);
    while (finder.reachedMs > targetMs && finder.found < maxMatches && !finder.isGivenUp && !effort.isSpent) {
      finder.step(targetMs, maxMatches, listener, effort);
    }
  }

  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): JsonPage {
    const plan = new PagePlan(this.#rows, limit, maxBytes, withRaw);
    this.#finder.each(offset, (rank) => plan.add(rank));
    return plan.page();
  }
}
