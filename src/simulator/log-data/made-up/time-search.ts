/**
 * A search by message time through made-up messages. Ranks go by message time: what is found is a range of ranks that grows at its
 * older end, and a filter.
 */
import type { Filter, Row } from '../../query/row.ts';
import type { MessagePage, Search, SearchRange } from '../log-data.ts';
import { PagePlan } from '../message-page.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { MatchIndex } from './match-index.ts';
import { type Matches, matchesOf } from './matches.ts';
import { newMatches } from './new-matches.ts';

export class TimeSearch implements Search {
  readonly #rows: MadeUpRows;
  readonly #range: SearchRange;
  readonly #matches: Matches;
  readonly #index: MatchIndex;
  #reachedMs: number;
  #scannedBytes = 0;

  constructor(rows: MadeUpRows, range: SearchRange, filter: Filter) {
    this.#rows = rows;
    this.#range = range;
    this.#matches = matchesOf(rows, filter);
    this.#index = new MatchIndex(rows, this.#matches, rows.timeline.rankAt(range.toMs));
    this.#reachedMs = range.toMs;
  }

  get found(): number {
    return this.#index.found;
  }

  get reachedMs(): number {
    return this.#reachedMs;
  }

  get scannedBytes(): number {
    return this.#scannedBytes;
  }

  advance(
    downToMs: number,
    mostMatches: number,
    each?: (row: Row, times: number) => void,
    eachReads?: ReadonlySet<string>,
    sliceMs?: number,
  ): void {
    const targetMs = Math.max(downToMs, this.#range.fromMs);
    if (targetMs >= this.#reachedMs || this.found >= mostMatches) return;
    const { timeline } = this.#rows;
    const target = timeline.rankAt(targetMs);
    const begin = this.#index.end;
    this.#index.extend(target, mostMatches);
    const { end } = this.#index;
    this.#reachedMs = end < target ? timeline.timeOf(end) + 1 : targetMs;
    this.#scannedBytes += this.#rows.rawBytes(begin, end);
    if (!each || end === begin) return;
    const matches = newMatches(this.#rows, this.#matches, each, eachReads, sliceMs);
    matches.between(begin, end);
    matches.end();
  }

  count(fromMs: number, toMs: number): number {
    const { start, end } = this.#index;
    const { timeline } = this.#rows;
    const within = (timeMs: number) => Math.min(end, Math.max(start, timeline.rankAt(timeMs)));
    return fromMs < toMs ? this.#index.countTo(within(fromMs)) - this.#index.countTo(within(toMs)) : 0;
  }

  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage {
    const plan = new PagePlan(this.#rows, limit, maxBytes, withRaw);
    this.#matches.each(this.#index.find(offset), this.#index.end, (rank) => plan.add(rank));
    return plan.page();
  }
}
