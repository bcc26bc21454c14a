/**
 * A search by message time through made-up messages, with a filter that templates settle. Ranks go by message time: what is found is
 * a range of ranks that grows at its older end, and the filter.
 */
import { Effort, unitsPerBlock } from '../effort.ts';
import type { MessagePage, Search, SearchRange, Telling } from '../log-data.ts';
import { PagePlan } from '../message-page.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { MatchIndex } from './match-index.ts';
import type { TemplateMatches } from './matches.ts';
import { type NewMatches, newMatches } from './new-matches.ts';

export class TimeSearch implements Search {
  readonly #rows: MadeUpRows;
  readonly #range: SearchRange;
  readonly #matches: TemplateMatches;
  readonly #index: MatchIndex;
  readonly #mostLooks: number;
  #news: NewMatches | undefined;
  #reachedMs: number;
  #scannedBytes = 0;
  #isGivenUp = false;

  constructor(rows: MadeUpRows, range: SearchRange, matches: TemplateMatches, mostLooks: number) {
    this.#rows = rows;
    this.#range = range;
    this.#matches = matches;
    this.#index = new MatchIndex(rows, matches, rows.timeline.rankAt(range.toMs));
    this.#mostLooks = mostLooks;
    this.#reachedMs = range.toMs;
  }

  get found(): number {
    return this.#index.found;
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
    if (!this.#matches.prepare(effort)) return;
    const { timeline, layouts } = this.#rows;
    const target = timeline.rankAt(targetMs);
    if (telling) this.#news ??= newMatches(this.#rows, this.#matches, telling);
    const looksPerMatch = this.#news?.looksPerMatch ?? 0;
    const most = looksPerMatch > 0 ? Math.min(mostMatches, Math.floor(this.#mostLooks / looksPerMatch)) : mostMatches;
    while (this.#index.end < target && this.found < most && !effort.isSpent) {
      const blocks = effort.allows(unitsPerBlock);
      const matches = effort.allows(this.#news?.unitsPerMatch ?? 0);
      const next = Math.min(target, this.#index.end + blocks * layouts.rows);
      this.#step(next, Math.min(most, this.found + matches), effort);
    }
    const { end } = this.#index;
    this.#isGivenUp = end < target && this.found >= most && most < mostMatches;
    this.#reachedMs = end < target ? timeline.timeOf(end) + 1 : targetMs;
    // What it keeps of layouts is needed no more.
    if (this.#reachedMs === this.#range.fromMs) this.#news = undefined;
  }

  #step(target: number, mostMatches: number, effort: Effort): void {
    const [begin, foundBefore] = [this.#index.end, this.found];
    this.#index.extend(target, mostMatches);
    const { end } = this.#index;
    this.#scannedBytes += this.#rows.rawBytes(begin, end);
    this.#news?.between(begin, end);
    this.#news?.end();
    const blocks = 1 + (end - begin) / this.#rows.layouts.rows;
    effort.spend(blocks * unitsPerBlock + (this.found - foundBefore) * (this.#news?.unitsPerMatch ?? 0));
  }

  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage {
    const plan = new PagePlan(this.#rows, limit, maxBytes, withRaw);
    this.#matches.each(this.#index.find(offset), this.#index.end, (rank) => plan.add(rank));
    return plan.page();
  }
}
