/**
 * Finds the nth match of a search. To save memory, it stores the positions of at most 1,024 matches. To find any other
 * match, it starts at a stored position and counts the matches that follow.
 */
import type { MadeUpRows } from './made-up-rows.ts';
import type { TemplateMatches } from './matches.ts';

const maxMarks = 1_024;
/**
 * Initial number of message blocks between two stored positions. Whenever too many positions are stored, this number is
 * doubled.
 */
const minStrideBlocks = 64;

export class MatchIndex {
  readonly start: number;
  readonly #rows: MadeUpRows;
  readonly #matches: TemplateMatches;
  #end: number;
  #found = 0;
  /** Ranks (numbers of newer messages) of the stored matches. */
  #ranks: number[];
  #counts: number[] = [0];
  #strideBlocks = minStrideBlocks;

  constructor(rows: MadeUpRows, matches: TemplateMatches, start: number) {
    this.start = start;
    this.#rows = rows;
    this.#matches = matches;
    this.#end = start;
    this.#ranks = [start];
  }

  get end(): number {
    return this.#end;
  }

  get found(): number {
    return this.#found;
  }

  /**
   * Extends the searched range to all messages whose rank (number of newer messages) is less than `end`, but stops once
   * the range contains `maxFound` matches.
   */
  extend(end: number, maxFound = Number.POSITIVE_INFINITY): void {
    while (this.#end < end && this.#found < maxFound) {
      const mark = this.#rows.timeline.blockEnd(this.#ranks.at(-1) as number, this.#strideBlocks);
      const next = Math.min(end, mark);
      const count = this.#matches.count(this.#end, next);
      if (this.#found + count >= maxFound) {
        this.#end = this.#matches.find(this.#end, next, maxFound - this.#found - 1) + 1;
        this.#found = maxFound;
        return;
      }
      this.#end = next;
      this.#found += count;
      if (next === mark) this.#mark();
    }
  }

  /**
   * Returns the rank (number of newer messages) of match `index`, counted from 0. If there are too few matches, returns
   * the end of the searched range.
   */
  find(index: number): number {
    if (index >= this.#found) return this.#end;
    const mark = this.#lastMark(index);
    return this.#matches.find(this.#ranks[mark] as number, this.#end, index - (this.#counts[mark] as number));
  }

  #mark(): void {
    this.#ranks.push(this.#end);
    this.#counts.push(this.#found);
    if (this.#ranks.length <= maxMarks) return;
    this.#ranks = this.#ranks.filter((_, index) => index % 2 === 0);
    this.#counts = this.#counts.filter((_, index) => index % 2 === 0);
    this.#strideBlocks *= 2;
  }

  /** Returns the index of the last stored position that is preceded by at most `count` matches. */
  #lastMark(count: number): number {
    let [low, high] = [0, this.#ranks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#counts[middle] as number) <= count) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
