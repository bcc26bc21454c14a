/**
 * A search by receipt time through made-up messages, with a filter that templates settle. What is found at any moment are the matches received since some time; pages
 * have them by message time (4.3), so that a page of a search that goes on may have other rows a moment later. Counts only grow.
 */
import { Effort, unitsPerBlock } from '../effort.ts';
import type { MessagePage, Search, SearchRange, Telling } from '../log-data.ts';
import { PagePlan } from '../message-page.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { MatchIndex } from './match-index.ts';
import type { TemplateMatches } from './matches.ts';
import { type NewMatches, newMatches } from './new-matches.ts';
import { isWithin, type ReceiptWindow, ReceivedMatches } from './received-matches.ts';

/** Of one whole block of which both ends have to be known, next to one that is counted alone. */
const blockFactor = 4;
/** Of looking up when a late message was received. */
const unitsPerLate = 0.1;
/** Of each message that has to be told by itself, since others beside it were received in another window. */
const unitsPerTold = 0.03;

export class ReceiptSearch implements Search {
  readonly #rows: MadeUpRows;
  readonly #range: SearchRange;
  readonly #matches: TemplateMatches;
  readonly #received: ReceivedMatches;
  /** Of the ranks that are surely received in the range and were reached. */
  readonly #sure: MatchIndex;
  readonly #mostLooks: number;
  #news: NewMatches | undefined;
  /** What was looked at. */
  #window: ReceiptWindow;
  /** Matches received at the window's beginning or later. */
  #full = 0;
  /** Matches of its millisecond before. */
  #part = 0;
  #scannedBytes = 0;
  #isGivenUp = false;

  constructor(rows: MadeUpRows, range: SearchRange, matches: TemplateMatches, mostLooks: number) {
    this.#rows = rows;
    this.#range = range;
    this.#matches = matches;
    this.#mostLooks = mostLooks;
    this.#received = new ReceivedMatches(rows, matches);
    this.#sure = new MatchIndex(rows, matches, rows.timeline.rankAt(range.toMs - rows.settings.receipt.lateMs));
    this.#window = { fromMs: range.toMs, toMs: range.toMs, partRank: -1 };
  }

  get found(): number {
    return this.#full + this.#part;
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
    const targetMs = Math.max(downToMs, this.#range.fromMs);
    if (targetMs >= this.reachedMs || this.found >= mostMatches || this.#isGivenUp) return;
    if (!this.#matches.prepare(effort)) return;
    if (telling) this.#news ??= newMatches(this.#rows, this.#matches, telling);
    const looksPerMatch = this.#news?.looksPerMatch ?? 0;
    const most = looksPerMatch > 0 ? Math.min(mostMatches, Math.floor(this.#mostLooks / looksPerMatch)) : mostMatches;
    while (this.reachedMs > targetMs && this.found < most && !effort.isSpent) {
      const blocks = effort.allows(unitsPerBlock * blockFactor);
      const matches = effort.allows(this.#news?.unitsPerMatch ?? 0);
      this.#step(Math.max(targetMs, this.#timeBehind(blocks)), Math.min(most, this.found + matches), effort);
    }
    this.#isGivenUp = this.reachedMs > targetMs && this.found >= most && most < mostMatches;
    // What it keeps of layouts is needed no more.
    if (this.reachedMs === this.#range.fromMs) this.#news = undefined;
  }

  /** The message time so many blocks before what was reached; at least a millisecond before. */
  #timeBehind(blocks: number): number {
    const { timeline, layouts } = this.#rows;
    const rank = timeline.rankAt(this.reachedMs) + blocks * layouts.rows;
    return rank < timeline.rows ? Math.min(timeline.timeOf(rank), this.reachedMs - 1) : Number.NEGATIVE_INFINITY;
  }

  #step(targetMs: number, mostMatches: number, effort: Effort): void {
    const [former, foundBefore] = [this.#window, this.found];
    this.#goTo(targetMs, mostMatches, effort);
    const { timeline } = this.#rows;
    this.#scannedBytes += this.#rows.rawBytes(timeline.rankAt(former.fromMs), timeline.rankAt(this.#window.fromMs));
    if (!this.#news) return;
    this.#tell(former, this.#news);
    const { begin, sure, doubtful, end } = this.#received.ranks({ ...this.#window, toMs: former.fromMs });
    effort.spend((sure - begin + end - doubtful) * unitsPerTold);
    effort.spend((this.found - foundBefore) * this.#news.unitsPerMatch);
  }

  /** Of going through a window once. */
  #unitsFor(window: ReceiptWindow): number {
    const { layouts, settings } = this.#rows;
    const { begin, sure, doubtful, end } = this.#received.ranks(window);
    const late = (sure - begin + end - doubtful) * settings.receipt.lateShare;
    return unitsPerBlock * blockFactor * (1 + (end - begin) / layouts.rows) + unitsPerLate * late;
  }

  /**
   * Moves the window's beginning to `targetMs`, or to where `mostMatches` are reached, by steps that grow until one is too long; less
   * far where that is too much, but further than it was.
   */
  #goTo(targetMs: number, mostMatches: number, effort: Effort): void {
    const { toMs } = this.#range;
    let fromMs = this.#window.fromMs;
    // As long as it would be if all messages matched.
    const expectedMs = Math.ceil((mostMatches - this.#full) / this.#rows.timeline.rowsPerMs);
    let stepMs = Math.max(1, Math.min(fromMs - targetMs, expectedMs));
    let isTooLong = false;
    let isFurther = false;
    this.#part = 0;
    this.#window = { fromMs, toMs, partRank: -1 };
    while (fromMs > targetMs && this.#full < mostMatches && !(isFurther && effort.isSpent)) {
      const nextMs = Math.max(targetMs, fromMs - stepMs);
      const step: ReceiptWindow = { fromMs: nextMs, toMs: fromMs, partRank: -1 };
      const count = this.#received.count(step);
      effort.spend(this.#unitsFor(step));
      if (this.#full + count <= mostMatches) {
        this.#full += count;
        fromMs = nextMs;
        isFurther = true;
        this.#window = { fromMs, toMs, partRank: -1 };
        if (!isTooLong) stepMs *= 2;
      } else if (nextMs === fromMs - 1) {
        this.#part = mostMatches - this.#full;
        this.#window = { fromMs, toMs, partRank: this.#rankOf(step, this.#part - 1) };
        return;
      } else {
        isTooLong = true;
        stepMs = Math.max(1, Math.floor(Math.min(stepMs, fromMs - nextMs) / 2));
      }
    }
  }

  /** The rank of match `index` of a window of one millisecond. */
  #rankOf(window: ReceiptWindow, index: number): number {
    const { begin, end } = this.#received.ranks(window);
    let found = end;
    this.#received.each(begin, end, window, index, (rank) => {
      found = rank;
      return false;
    });
    return found;
  }

  #tell(former: ReceiptWindow, matches: NewMatches): void {
    const step: ReceiptWindow = { ...this.#window, toMs: former.fromMs };
    const tell = (rank: number) => {
      if (!isWithin(former, this.#rows.receiptOf(rank), rank)) matches.at(rank);
      return true;
    };
    const { begin, sure, doubtful, end } = this.#received.ranks(step);
    // What was found of the former window's last millisecond lies in ranks that are all looked at one by one.
    this.#received.each(begin, sure, step, 0, tell);
    matches.between(sure, doubtful);
    this.#received.each(doubtful, end, step, 0, tell);
    matches.end();
  }

  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage {
    const plan = new PagePlan(this.#rows, limit, maxBytes, withRaw);
    const window = this.#window;
    const take = (rank: number) => plan.add(rank);
    const { begin, sure, doubtful, end } = this.#received.ranks(window);
    const before = this.#received.countAmong(begin, sure, window);
    const goesOn = offset >= before || this.#received.each(begin, sure, window, offset, take);
    if (!goesOn) return plan.page();
    this.#sure.extend(doubtful);
    const within = Math.max(0, offset - before);
    if (within < this.#sure.found && !this.#matches.each(this.#sure.find(within), doubtful, take)) return plan.page();
    this.#received.each(doubtful, end, window, Math.max(0, within - this.#sure.found), take);
    return plan.page();
  }
}
