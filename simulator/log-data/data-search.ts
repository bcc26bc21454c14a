/**
 * A search through log data, from the end of its time range to the beginning. It continues until it reaches a time or a
 * number of matches, or until its effort (`effort.ts`, computed work) is spent. A *finder* finds the matches, either
 * message by message (`row-finder.ts`) or by whole blocks of messages (`template-finder.ts`).
 */
import { Effort } from './effort.ts';
import type { MatchListener, MessagePage, Search, SearchRange } from './log-data.ts';
import { PagePlan, type RowWriter } from './message-page.ts';

/** Finds matching messages by time, latest first. Its members have the meaning of those of `Search`. */
export interface Finder extends Pick<Search, 'found' | 'reachedMs' | 'isGivenUp' | 'scannedBytes'> {
  /**
   * Searches some messages back to `targetMs` at most, and stops after `maxMatches` matches. The caller repeats the
   * call to continue.
   */
  step(targetMs: number, maxMatches: number, listener: MatchListener | undefined, effort: Effort): void;
  /**
   * Calls `take` with the rank (index from the newest message) of each match, newest first, until `take` returns false.
   * Skips the first `skip` matches.
   */
  each(skip: number, take: (rank: number) => boolean): void;
}

export class DataSearch implements Search {
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

  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage {
    const plan = new PagePlan(this.#rows, limit, maxBytes, withRaw);
    this.#finder.each(offset, (rank) => plan.add(rank));
    return plan.page();
  }
}
