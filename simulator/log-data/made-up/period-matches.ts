/**
 * Finds the matches in a range of message times or receipt times. In a range of receipt times, only messages near its
 * start or end are checked individually.
 */
import type { Layout } from './layouts.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import type { TemplateMatches } from './matches.ts';

/**
 * Time range [fromMs, toMs) that a search has covered. A search can stop within the millisecond `fromMs - 1`. In this
 * case, the messages that it has searched in that millisecond also belong to the range.
 */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
  /**
   * Rank (number of newer messages) of the oldest message searched in the millisecond `fromMs - 1`, or -1 if no message
   * in that millisecond has been searched.
   */
  readonly partRank: number;
}

/**
 * Ranks that delimit the messages in a time range, with `begin` <= `sure` <= `doubtful` <= `end`. The rank of a message
 * is the number of newer messages. Messages from `sure` up to, but not including, `doubtful` are in the time range.
 * Messages from `begin` up to `sure`, and from `doubtful` up to `end`, may be in the time range, and must be checked.
 */
export interface PeriodRanks {
  readonly begin: number;
  readonly sure: number;
  readonly doubtful: number;
  readonly end: number;
}

export class PeriodMatches {
  /**
   * Maximum time in ms from message time to receipt time, for messages that are not late (`promptMs`) and for late
   * messages (`lateMs`). Both are 0 in a search by message time.
   */
  readonly promptMs: number;
  readonly lateMs: number;
  readonly #rows: MadeUpRows;
  readonly #matches: TemplateMatches;
  readonly #byReceiptTime: boolean;

  constructor(rows: MadeUpRows, matches: TemplateMatches, byReceiptTime: boolean) {
    this.#rows = rows;
    this.#matches = matches;
    this.#byReceiptTime = byReceiptTime;
    const { promptMs, lateMs } = rows.settings.receipt;
    this.promptMs = byReceiptTime ? promptMs : 0;
    this.lateMs = byReceiptTime ? lateMs : 0;
  }

  isWithin(period: Period, rank: number): boolean {
    const timeMs = this.#timeOf(rank);
    if (timeMs >= period.toMs) return false;
    return timeMs >= period.fromMs || (timeMs === period.fromMs - 1 && rank <= period.partRank);
  }

  ranks({ fromMs, toMs, partRank }: Period): PeriodRanks {
    const { timeline } = this.#rows;
    const { lateMs } = this;
    const begin = timeline.rankAt(toMs);
    const doubtful = Math.max(begin, timeline.rankAt(fromMs));
    const sure = Math.min(doubtful, timeline.rankAt(toMs - lateMs));
    if (!this.#byReceiptTime) return { begin, sure, doubtful, end: Math.max(doubtful, partRank + 1) };
    const earliestMs = partRank < 0 ? fromMs : fromMs - 1;
    return { begin, sure, doubtful, end: Math.max(doubtful, timeline.rankAt(earliestMs - lateMs)) };
  }

  count(period: Period): number {
    const { begin, sure, doubtful, end } = this.ranks(period);
    const middle = this.#matches.count(sure, doubtful);
    return this.countAmong(begin, sure, period) + middle + this.countAmong(doubtful, end, period);
  }

  /**
   * Returns the number of matches with ranks in [from, to) and times in `period`. The rank of a message is the number
   * of newer messages.
   */
  countAmong(from: number, to: number, period: Period): number {
    let count = 0;
    this.#eachBlock(from, to, (block) => {
      count += this.#countInBlock(block, period);
      return true;
    });
    return count;
  }

  /**
   * Calls `take` for each match with a rank in [from, to) and a time in `period`. Skips the first `skip` matches, and
   * stops when `take` returns false.
   */
  each(from: number, to: number, period: Period, skip: number, take: (rank: number) => boolean): boolean {
    let left = skip;
    return this.#eachBlock(from, to, (block) => {
      if (left > 0) {
        const count = this.#countInBlock(block, period);
        if (count <= left) {
          left -= count;
          return true;
        }
      }
      return this.#eachCandidate(block, period, (rank) => left-- > 0 || take(rank));
    });
  }

  #countInBlock(block: BlockPart, period: Period): number {
    let count = 0;
    if (block.oldestMs >= period.fromMs && block.newestMs + this.promptMs < period.toMs) {
      // All messages of this block that are not late were received within the time range, so only late messages are
      // checked.
      count = this.#matches.count(block.rank, block.rank + block.end - block.first);
      this.#eachLate(block, (rank) => {
        if (this.#timeOf(rank) >= period.toMs && this.#matches.has(rank)) count--;
        return true;
      });
      return count;
    }
    this.#eachCandidate(block, period, () => {
      count++;
      return true;
    });
    return count;
  }

  #eachCandidate(block: BlockPart, period: Period, take: (rank: number) => boolean): boolean {
    const takeWithin = (rank: number) => !this.isWithin(period, rank) || !this.#matches.has(rank) || take(rank);
    if (block.newestMs + this.promptMs < period.fromMs - 1) return this.#eachLate(block, takeWithin);
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

  #timeOf(rank: number): number {
    return this.#byReceiptTime ? this.#rows.receiptOf(rank) : this.#rows.timeline.timeOf(rank);
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

/**
 * Part of a message block, from index `first` up to but not including index `end`. `rank` is the rank of the part's
 * first message. The rank of a message is the number of newer messages.
 */
interface BlockPart {
  readonly layout: Layout;
  readonly rank: number;
  readonly first: number;
  readonly end: number;
  readonly newestMs: number;
  readonly oldestMs: number;
}
