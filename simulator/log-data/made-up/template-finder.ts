/**
 * Searches generated messages. To save time and memory, it stores only the number of matches in each message block, and
 * finds the matches again when they are needed.
 */
import type { Finder } from '../data-search.ts';
import { type Effort, unitsPerBlock } from '../effort.ts';
import type { MatchListener, SearchRange } from '../log-data.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { MatchIndex } from './match-index.ts';
import type { TemplateMatches } from './matches.ts';
import { type NewMatches, newMatches } from './new-matches.ts';
import { type Period, PeriodMatches } from './period-matches.ts';

/** Duration of a search by receipt time, as a multiple of the duration of a search by message time. */
const receiptFactor = 4;
/** Estimated time to look up the receipt time of a late message, in microseconds. */
const unitsPerLate = 0.1;
/** Estimated time to report a message to the listener, in microseconds. */
const unitsPerReported = 0.03;

/**
 * Limits on the length of a repeated search step. If a step finds too many matches, it is repeated with `minShare` to
 * `maxShare` times its length.
 */
const minShare = 1 / 16;
const maxShare = 3 / 4;

export class TemplateFinder implements Finder {
  isGivenUp = false;
  scannedBytes = 0;
  readonly #rows: MadeUpRows;
  readonly #range: SearchRange;
  readonly #matches: TemplateMatches;
  readonly #within: PeriodMatches;
  /**
   * Index for finding the matches of a result page. It contains only matches whose position in the results is final.
   */
  readonly #index: MatchIndex;
  readonly #maxExamined: number;
  readonly #unitsPerBlock: number;
  #newMatches: NewMatches | undefined;
  #period: Period;
  /** Total number of matches in all milliseconds that have been searched completely. */
  #full = 0;
  /**
   * Number of matches in the millisecond within which the search stopped at `maxMatches`, or 0 if the search did not
   * stop within a millisecond.
   */
  #part = 0;

  constructor(rows: MadeUpRows, range: SearchRange, matches: TemplateMatches, maxExamined: number) {
    this.#rows = rows;
    this.#range = range;
    this.#matches = matches;
    this.#maxExamined = maxExamined;
    this.#unitsPerBlock = unitsPerBlock * (range.byReceiptTime ? receiptFactor : 1);
    this.#within = new PeriodMatches(rows, matches, range.byReceiptTime);
    this.#index = new MatchIndex(rows, matches, rows.timeline.rankAt(range.toMs - this.#within.lateMs));
    this.#period = { fromMs: range.toMs, toMs: range.toMs, partRank: -1 };
  }

  get found(): number {
    return this.#full + this.#part;
  }

  get reachedMs(): number {
    return this.#period.fromMs;
  }

  step(targetMs: number, maxMatches: number, listener: MatchListener | undefined, effort: Effort): void {
    if (!this.#matches.prepare(effort)) return;
    if (listener) this.#newMatches ??= newMatches(this.#rows, this.#matches, listener);
    const { examinedPerMatch = 0, unitsPerMatch = 0 } = this.#newMatches ?? {};
    const max =
      examinedPerMatch > 0 ? Math.min(maxMatches, Math.floor(this.#maxExamined / examinedPerMatch)) : maxMatches;
    if (this.found < max) {
      const blocks = effort.allows(this.#unitsPerBlock);
      const matches = effort.allows(unitsPerMatch);
      this.#goOn(Math.max(targetMs, this.#timeBehind(blocks)), Math.min(max, this.found + matches), effort);
    }
    this.isGivenUp = this.reachedMs > targetMs && this.found >= max && max < maxMatches;
    if (this.reachedMs === this.#range.fromMs) this.#newMatches = undefined;
  }

  /**
   * Returns the time that the backward search must reach to cover `blocks` more message blocks, or -Infinity if fewer
   * blocks are left.
   */
  #timeBehind(blocks: number): number {
    const { timeline, layouts } = this.#rows;
    const rank = timeline.rankAt(this.reachedMs) + blocks * layouts.rows;
    return rank < timeline.rows ? Math.min(timeline.timeOf(rank), this.reachedMs - 1) : Number.NEGATIVE_INFINITY;
  }

  #goOn(targetMs: number, maxMatches: number, effort: Effort): void {
    const [former, foundBefore] = [this.#period, this.found];
    this.#moveTo(targetMs, maxMatches, effort);
    this.scannedBytes += this.#rows.rawBytes(this.#rankBehind(former), this.#rankBehind(this.#period));
    if (!this.#newMatches) return;
    this.#report(former, this.#newMatches);
    const { begin, sure, doubtful, end } = this.#within.ranks({ ...this.#period, toMs: former.fromMs });
    effort.spend((sure - begin + end - doubtful) * unitsPerReported);
    effort.spend((this.found - foundBefore) * this.#newMatches.unitsPerMatch);
  }

  /** Returns the number of messages newer than the start of the searched range. */
  #rankBehind(period: Period): number {
    const { doubtful, end } = this.#within.ranks(period);
    return this.#range.byReceiptTime ? doubtful : end;
  }

  /**
   * Extends the searched range back to `targetMs` in steps. The step length doubles until a step finds too many
   * matches. That step is then repeated with a shorter length.
   */
  #moveTo(targetMs: number, maxMatches: number, effort: Effort): void {
    const { toMs } = this.#range;
    let fromMs = this.#period.fromMs;
    // Length in ms of a step that would reach `maxMatches` if every message matched.
    const expectedMs = Math.ceil((maxMatches - this.#full) / this.#rows.timeline.rowsPerMs);
    let stepMs = Math.max(1, Math.min(fromMs - targetMs, expectedMs));
    let isTooLong = false;
    let hasMoved = false;
    this.#part = 0;
    while (fromMs > targetMs && !(hasMoved && effort.isSpent)) {
      const nextMs = Math.max(targetMs, fromMs - stepMs);
      const step: Period = { fromMs: nextMs, toMs: fromMs, partRank: -1 };
      const count = this.#within.count(step);
      effort.spend(this.#unitsFor(step));
      if (this.#full + count < maxMatches) {
        this.#full += count;
        fromMs = nextMs;
        hasMoved = true;
        if (!isTooLong) stepMs *= 2;
      } else if (nextMs === fromMs - 1) {
        this.#part = maxMatches - this.#full;
        this.#period = { fromMs, toMs, partRank: this.#rankOf(step, this.#part - 1) };
        return;
      } else {
        isTooLong = true;
        const triedMs = fromMs - nextMs;
        const share = Math.min(maxShare, Math.max(minShare, (maxMatches - this.#full) / count));
        stepMs = Math.max(1, Math.floor(triedMs * share));
      }
    }
    this.#period = { fromMs, toMs, partRank: -1 };
  }

  /** Returns the estimated time to count the matches in a period, in microseconds. */
  #unitsFor(period: Period): number {
    const { layouts, settings } = this.#rows;
    const { begin, sure, doubtful, end } = this.#within.ranks(period);
    const late = (sure - begin + end - doubtful) * settings.receipt.lateShare;
    return this.#unitsPerBlock * (1 + (end - begin) / layouts.rows) + unitsPerLate * late;
  }

  /** Returns the rank (number of newer messages) of match `index` in `period`, which is a single millisecond. */
  #rankOf(period: Period, index: number): number {
    const { begin, end } = this.#within.ranks(period);
    let found = end;
    this.#within.each(begin, end, period, index, (rank) => {
      found = rank;
      return false;
    });
    return found;
  }

  /** Reports the matches found in the last search step to the listener. */
  #report(former: Period, found: NewMatches): void {
    const step: Period = { ...this.#period, toMs: former.fromMs };
    const report = (rank: number) => {
      if (!this.#within.isWithin(former, rank)) found.at(rank);
      return true;
    };
    const { begin, doubtful, end } = this.#within.ranks(step);
    const fresh = Math.min(end, this.#within.ranks(former).end);
    const afterFresh = Math.max(fresh, doubtful);
    if (this.#range.byReceiptTime) this.#within.each(begin, fresh, step, 0, report);
    found.between(fresh, afterFresh);
    this.#within.each(afterFresh, end, step, 0, report);
    found.end();
  }

  each(skip: number, take: (rank: number) => boolean): void {
    const period = this.#period;
    const { begin, sure, doubtful, end } = this.#within.ranks(period);
    const before = this.#within.countAmong(begin, sure, period);
    if (skip < before && !this.#within.each(begin, sure, period, skip, take)) return;
    const within = Math.max(0, skip - before);
    this.#index.extend(doubtful, within + 1);
    const isReached = within < this.#index.found;
    if (isReached && !this.#matches.each(this.#index.find(within), doubtful, take)) return;
    this.#within.each(doubtful, end, period, isReached ? 0 : within - this.#index.found, take);
  }
}
