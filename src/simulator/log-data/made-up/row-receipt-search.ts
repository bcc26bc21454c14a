/**
 * A search by receipt time through made-up messages, with a filter that has to be asked about each of them. Where its matches are is
 * written down; steps are short, since a step that finds too many is taken again, as a shorter one.
 */
import type { Filter } from '../../query/row.ts';
import { Effort, unitsPerLook } from '../effort.ts';
import type { MessagePage, Search, SearchRange, Telling } from '../log-data.ts';
import { PagePlan } from '../message-page.ts';
import { RankChunks } from '../rank-chunks.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { TemplateMatches } from './matches.ts';
import { isWithin, type ReceiptWindow, ReceivedMatches } from './received-matches.ts';

/** Of one step, about. */
const mostStepRows = 5_000;

export class RowReceiptSearch implements Search {
  readonly #rows: MadeUpRows;
  readonly #range: SearchRange;
  readonly #filter: Filter;
  readonly #received: ReceivedMatches;
  readonly #matches = new RankChunks();
  /** Nothing that was received before is looked at. */
  readonly #lastMs: number;
  /** What was looked at. */
  #window: ReceiptWindow;
  /** Shorter than a step that found too many, also one of the last turn. */
  #mostStepMs = Number.POSITIVE_INFINITY;
  #scannedBytes = 0;
  #isGivenUp = false;

  constructor(rows: MadeUpRows, range: SearchRange, filter: Filter, mostLooks: number) {
    this.#rows = rows;
    this.#range = range;
    this.#filter = filter;
    const all = new TemplateMatches(rows, { reads: new Set(), cost: 0, matches: () => true });
    all.prepare(new Effort());
    this.#received = new ReceivedMatches(rows, all);
    this.#window = { fromMs: range.toMs, toMs: range.toMs, partRank: -1 };
    this.#lastMs = this.#timeBehind(mostLooks);
  }

  get found(): number {
    return this.#matches.size;
  }

  get reachedMs(): number {
    return this.#window.fromMs;
  }

  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** Of the messages whose own time was reached: those are what a search has to go through. */
  get scannedBytes(): number {
    return this.#scannedBytes;
  }

  advance(downToMs: number, mostMatches: number, telling?: Telling, effort = new Effort()): void {
    const wantedMs = Math.max(downToMs, this.#range.fromMs);
    const targetMs = Math.max(wantedMs, this.#lastMs);
    while (this.reachedMs > targetMs && this.found < mostMatches && !effort.isSpent) {
      const begin = Math.max(targetMs, this.#timeBehind(mostStepRows), this.reachedMs - this.#mostStepMs);
      const fromMs = Math.min(this.reachedMs - 1, begin);
      const stepMs = this.reachedMs - fromMs;
      const isDone = this.#step(fromMs, mostMatches, telling, effort);
      this.#mostStepMs = isDone ? this.#mostStepMs * 2 : Math.floor(stepMs / 2);
    }
    this.#isGivenUp = this.reachedMs === this.#lastMs && this.#lastMs > wantedMs;
  }

  /** The message time so many messages before what was reached. */
  #timeBehind(rows: number): number {
    const { timeline } = this.#rows;
    const rank = timeline.rankAt(this.reachedMs) + rows;
    return rank < timeline.rows ? timeline.timeOf(rank) : Number.NEGATIVE_INFINITY;
  }

  /** Goes on to `fromMs`; false where that would be too many matches, and nothing has happened. */
  #step(fromMs: number, mostMatches: number, telling: Telling | undefined, effort: Effort): boolean {
    const former = this.#window;
    const step: ReceiptWindow = { fromMs, toMs: former.fromMs, partRank: -1 };
    const fresh = this.#matchesIn(step, former, effort);
    const room = mostMatches - this.found;
    if (fresh.length > room && fromMs < former.fromMs - 1) return false;
    const taken = fresh.slice(0, room);
    for (const rank of taken) {
      this.#matches.add(rank);
      if (telling) effort.spend(unitsPerLook(telling, this.#rows.rawBytesOf(rank)));
      telling?.each(this.#rows.row(rank), 1);
    }
    if (fresh.length > room) {
      this.#window = { ...former, partRank: taken.at(-1) ?? former.partRank };
      return true;
    }
    this.#window = { ...former, fromMs, partRank: -1 };
    const { timeline } = this.#rows;
    this.#scannedBytes += this.#rows.rawBytes(timeline.rankAt(former.fromMs), timeline.rankAt(fromMs));
    return true;
  }

  /** Ranks, ascending. */
  #matchesIn(step: ReceiptWindow, former: ReceiptWindow, effort: Effort): number[] {
    const { begin, end } = this.#received.ranks(step);
    const fresh: number[] = [];
    this.#received.each(begin, end, step, 0, (rank) => {
      const row = this.#rows.row(rank);
      effort.spend(unitsPerLook(this.#filter, this.#rows.rawBytesOf(rank)));
      if (!isWithin(former, row.receiptTimeMs, rank) && this.#filter.matches(row)) fresh.push(rank);
      return true;
    });
    effort.spend(1 + (end - begin) * unitsPerCandidate);
    return fresh;
  }

  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage {
    const plan = new PagePlan(this.#rows, limit, maxBytes, withRaw);
    this.#matches.each(offset, (rank) => plan.add(rank));
    return plan.page();
  }
}

/** Of passing over a message that may have been received in another window. */
const unitsPerCandidate = 0.002;
