/**
 * The matches in a range of ranks that grows at its older end: how many there are, and which rank has a given one.
 *
 * Invariant: what is kept are counts at some ranks, a thousand at most. As the range grows, every second of them goes, and what
 * lies between two of them is counted again when it is asked for.
 */
import type { MadeUpRows } from './made-up-rows.ts';
import type { TemplateMatches } from './matches.ts';

const mostMarks = 1_024;
/** From one mark to the next at first. */
const leastStrideBlocks = 64;

export class MatchIndex {
  /** The range is [start, end). */
  readonly start: number;
  readonly #rows: MadeUpRows;
  readonly #matches: TemplateMatches;
  #end: number;
  #found = 0;
  /** `#counts[i]` matches lie before `#ranks[i]`; the first is the start. */
  #ranks: number[];
  #counts: number[] = [0];
  /** From one mark to the next. */
  #strideBlocks = leastStrideBlocks;

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

  /** Goes on to `end`, or until behind the match that makes them `mostFound`. */
  extend(end: number, mostFound = Number.POSITIVE_INFINITY): void {
    while (this.#end < end && this.#found < mostFound) {
      const mark = this.#rows.timeline.blockEnd(this.#ranks.at(-1) as number, this.#strideBlocks);
      const next = Math.min(end, mark);
      const count = this.#matches.count(this.#end, next);
      if (this.#found + count >= mostFound) {
        this.#end = this.#matches.find(this.#end, next, mostFound - this.#found - 1) + 1;
        this.#found = mostFound;
        return;
      }
      this.#end = next;
      this.#found += count;
      if (next === mark) this.#mark();
    }
  }

  /** The rank of match `index`, counted from 0; the end where there is none. */
  find(index: number): number {
    if (index >= this.#found) return this.#end;
    const mark = this.#lastMark(index);
    return this.#matches.find(this.#ranks[mark] as number, this.#end, index - (this.#counts[mark] as number));
  }

  #mark(): void {
    this.#ranks.push(this.#end);
    this.#counts.push(this.#found);
    if (this.#ranks.length <= mostMarks) return;
    this.#ranks = this.#ranks.filter((_, index) => index % 2 === 0);
    this.#counts = this.#counts.filter((_, index) => index % 2 === 0);
    this.#strideBlocks *= 2;
  }

  /** The last mark before which no more than `count` matches lie. */
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
