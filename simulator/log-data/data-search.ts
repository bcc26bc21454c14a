/**
 * A search through log data, from the end of its time range to the beginning. A *finder* finds the matching messages. There are
 * two kinds of finders: one examines each message (`row-finder.ts`), the other counts whole blocks of generated messages
 * (`template-finder.ts`). A search pauses when it has used up its computing time between two requests (`effort.ts`).
 */
import { Effort } from './effort.ts';
import type { MatchListener, MessagePage, Search, SearchRange } from './log-data.ts';
import { PagePlan, type RowWriter } from './message-page.ts';

/** Finds the messages that match a search, latest first. The members have the same meaning as those of `Search`. */
export interface Finder extends Pick<Search, 'found' | 'reachedMs' | 'isGivenUp' | 'scannedBytes'> {
  /**
   * Searches back in time to `targetMs` at most, and stops after `maxMatches` matches. One call may do only a part of this work,
   * so the caller repeats the call.
   */
  step(targetMs: number, maxMatches: number, listener: MatchListener | undefined, effort: Effort): void;
  /**
   * Calls `take` for the matches in order, newest first, until `take` returns false. `rank` is the position of the message among all
   * messages, counted from the newest. The first `skip` matches are left out.
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
