/**
 * A search by receipt time through made-up messages. What is found at any moment are the matches received since some time; pages
 * have them by message time (4.3), so that a page of a search that goes on may have other rows a moment later. Counts only grow.
 */
import type { Filter, Row } from '../../query/row.ts';
import type { MessagePage, Search, SearchRange } from '../log-data.ts';
import { PagePlan } from '../message-page.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { MatchIndex } from './match-index.ts';
import { type Matches, matchesOf } from './matches.ts';
import { type NewMatches, newMatches } from './new-matches.ts';
import { isWithin, type ReceiptWindow, ReceivedMatches } from './received-matches.ts';

/** How far a step towards a number of matches goes at first. */
const firstStepMs = 1_000;

export class ReceiptSearch implements Search {
  readonly #rows: MadeUpRows;
  readonly #range: SearchRange;
  readonly #matches: Matches;
  readonly #received: ReceivedMatches;
  /** Of the ranks that are surely received in the range and were reached. */
  readonly #sure: MatchIndex;
  /** What was looked at. */
  #window: ReceiptWindow;
  /** Matches received at the window's beginning or later. */
  #full = 0;
  /** Matches of its millisecond before. */
  #part = 0;
  #scannedBytes = 0;

  constructor(rows: MadeUpRows, range: SearchRange, filter: Filter) {
    this.#rows = rows;
    this.#range = range;
    this.#matches = matchesOf(rows, filter);
    this.#received = new ReceivedMatches(rows, this.#matches);
    this.#sure = new MatchIndex(rows, this.#matches, rows.timeline.rankAt(range.toMs - rows.settings.receipt.lateMs));
    this.#window = { fromMs: range.toMs, toMs: range.toMs, partRank: -1 };
  }

  get found(): number {
    return this.#full + this.#part;
  }

  get reachedMs(): number {
    return this.#window.fromMs;
  }

  /** Of the messages whose own time was reached: those are what a search has to go through. */
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
    const former = this.#window;
    if (targetMs >= former.fromMs || this.found >= mostMatches) return;
    this.#goTo(targetMs, mostMatches);
    const { timeline } = this.#rows;
    this.#scannedBytes += this.#rows.rawBytes(timeline.rankAt(former.fromMs), timeline.rankAt(this.#window.fromMs));
    if (each) this.#tell(former, newMatches(this.#rows, this.#matches, each, eachReads, sliceMs));
  }

  /** Moves the window's beginning to `targetMs`, or to where `mostMatches` are reached, by steps that grow until one is too long. */
  #goTo(targetMs: number, mostMatches: number): void {
    const { toMs } = this.#range;
    let fromMs = this.#window.fromMs;
    let stepMs = mostMatches === Number.POSITIVE_INFINITY ? fromMs - targetMs : firstStepMs;
    let isTooLong = false;
    this.#part = 0;
    this.#window = { fromMs, toMs, partRank: -1 };
    while (fromMs > targetMs && this.#full < mostMatches) {
      const nextMs = Math.max(targetMs, fromMs - stepMs);
      const step: ReceiptWindow = { fromMs: nextMs, toMs: fromMs, partRank: -1 };
      const count = this.#received.count(step);
      if (this.#full + count <= mostMatches) {
        this.#full += count;
        fromMs = nextMs;
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

  count(fromMs: number, toMs: number): number {
    const window = this.#window;
    const countedFromMs = Math.max(fromMs, window.fromMs);
    const countedToMs = Math.min(toMs, window.toMs);
    const isPartCounted = fromMs <= window.fromMs - 1 && window.fromMs - 1 < toMs;
    const full =
      countedFromMs < countedToMs
        ? this.#received.count({ fromMs: countedFromMs, toMs: countedToMs, partRank: -1 })
        : 0;
    return full + (isPartCounted ? this.#part : 0);
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
