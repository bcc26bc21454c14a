/**
 * Matches by their receipt time, which comes after the message time by `lateMs` at most. Ranks go by message time: whatever was
 * received in a range of time lies in the ranks of that range and of `lateMs` before it. In the middle of these everything was
 * received in the range; towards both ends it has to be looked up, where it helps among the late ones of a layout alone.
 */
import type { Layout } from './layouts.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import type { TemplateMatches } from './matches.ts';

/** Receipt times in [fromMs, toMs), and those of the millisecond before up to a rank. */
export interface ReceiptWindow {
  readonly fromMs: number;
  readonly toMs: number;
  /** Also what was received at `fromMs - 1`, up to and with this rank; -1 is none of it. */
  readonly partRank: number;
}

/** Whether a message that was received at `receiptMs` is in a window. */
export function isWithin(window: ReceiptWindow, receiptMs: number, rank: number): boolean {
  if (receiptMs >= window.toMs) return false;
  return receiptMs >= window.fromMs || (receiptMs === window.fromMs - 1 && rank <= window.partRank);
}

/** Ranks that may have been received in a window: all of [sure, doubtful), and some of those before and after. */
export interface WindowRanks {
  readonly begin: number;
  readonly sure: number;
  readonly doubtful: number;
  readonly end: number;
}

export class ReceivedMatches {
  readonly #rows: MadeUpRows;
  readonly #matches: TemplateMatches;

  constructor(rows: MadeUpRows, matches: TemplateMatches) {
    this.#rows = rows;
    this.#matches = matches;
  }

  ranks({ fromMs, toMs, partRank }: ReceiptWindow): WindowRanks {
    const { timeline, settings } = this.#rows;
    const { lateMs } = settings.receipt;
    const earliestMs = partRank < 0 ? fromMs : fromMs - 1;
    const begin = timeline.rankAt(toMs);
    const doubtful = Math.max(begin, timeline.rankAt(fromMs));
    const sure = Math.min(doubtful, timeline.rankAt(toMs - lateMs));
    return { begin, sure, doubtful, end: Math.max(doubtful, timeline.rankAt(earliestMs - lateMs)) };
  }

  count(window: ReceiptWindow): number {
    const { begin, sure, doubtful, end } = this.ranks(window);
    const middle = this.#matches.count(sure, doubtful);
    return this.countAmong(begin, sure, window) + middle + this.countAmong(doubtful, end, window);
  }

  /** Those of the ranks [from, to) that are in the window. */
  countAmong(from: number, to: number, window: ReceiptWindow): number {
    let count = 0;
    this.#eachBlock(from, to, (block) => {
      count += this.#countInBlock(block, window);
      return true;
    });
    return count;
  }

  /** Calls back for those of the ranks [from, to) that are in the window, newest first, but for the first `skip`. */
  each(from: number, to: number, window: ReceiptWindow, skip: number, take: (rank: number) => boolean): boolean {
    let left = skip;
    return this.#eachBlock(from, to, (block) => {
      if (left > 0) {
        const count = this.#countInBlock(block, window);
        if (count <= left) {
          left -= count;
          return true;
        }
      }
      return this.#eachCandidate(block, window, (rank) => left-- > 0 || take(rank));
    });
  }

  #countInBlock(block: BlockPart, window: ReceiptWindow): number {
    let count = 0;
    const { promptMs } = this.#rows.settings.receipt;
    if (block.oldestMs >= window.fromMs && block.newestMs + promptMs < window.toMs) {
      // Only late ones can be outside.
      count = this.#matches.count(block.rank, block.rank + block.end - block.first);
      this.#eachLate(block, (rank) => {
        if (this.#rows.receiptOf(rank) >= window.toMs && this.#matches.has(rank)) count--;
        return true;
      });
      return count;
    }
    this.#eachCandidate(block, window, () => {
      count++;
      return true;
    });
    return count;
  }

  #eachCandidate(block: BlockPart, window: ReceiptWindow, take: (rank: number) => boolean): boolean {
    const { promptMs } = this.#rows.settings.receipt;
    const takeWithin = (rank: number) =>
      !isWithin(window, this.#rows.receiptOf(rank), rank) || !this.#matches.has(rank) || take(rank);
    if (block.newestMs + promptMs < window.fromMs - 1) return this.#eachLate(block, takeWithin);
    for (let entry = block.first; entry < block.end; entry++) {
      if (!takeWithin(block.rank + entry - block.first)) return false;
    }
    return true;
  }

  #eachLate({ layout, rank, first, end }: BlockPart, take: (rank: number) => boolean): boolean {
    for (const entry of layout.late) {
      if (entry >= first && entry < end && !take(rank + entry - first)) return false;
    }
    return true;
  }

  #eachBlock(from: number, to: number, take: (block: BlockPart) => boolean): boolean {
    const { timeline, layouts } = this.#rows;
    for (const stretch of timeline.stretches(from, to)) {
      for (let passed = 0; passed < Math.max(1, stretch.blocks); passed++) {
        const rank = stretch.rank + passed * layouts.rows;
        const [first, end] = stretch.blocks > 0 ? [0, layouts.rows] : [stretch.first, stretch.end];
        const newestMs = timeline.timeOf(rank);
        const oldestMs = timeline.timeOf(rank + end - first - 1);
        const layout = layouts.layout(layouts.numberOf(stretch.block + passed));
        if (!take({ layout, rank, first, end, newestMs, oldestMs })) return false;
      }
    }
    return true;
  }
}

/** Messages [first, end) of a block; `rank` is that of the first of them. */
interface BlockPart {
  readonly layout: Layout;
  readonly rank: number;
  readonly first: number;
  readonly end: number;
  readonly newestMs: number;
  readonly oldestMs: number;
}
