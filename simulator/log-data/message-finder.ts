/**
 * Finds messages by applying a filter to one message after another. Stores the rank of each matching message, which is
 * the number of newer messages.
 */
import type { MessageFilter, MessageRow } from '../query/row.ts';
import type { Finder } from './data-search.ts';
import { type Effort, unitsPerMessage } from './effort.ts';
import type { MatchListener, SearchRange } from './log-data.ts';
import { RankChunks } from './rank-chunks.ts';

/** Messages that are read by rank. The rank of a message is the number of newer messages. */
export interface SearchedRows {
  rawBytesOf(rank: number): number;
  row(rank: number): MessageRow;
}

/** Ranks (numbers of newer messages) of the messages found by a search. */
export type MatchStore = Pick<RankChunks, 'size' | 'add' | 'each'>;

/**
 * Returns the rank (number of newer messages) of the next message to examine. Messages are examined newest first.
 * Returns -1 after the last message.
 */
export type NextRank = (effort: Effort) => number;

export class MessageFinder implements Finder {
  reachedMs: number;
  isGivenUp = false;
  scannedBytes = 0;
  readonly #rows: SearchedRows;
  readonly #nextRank: NextRank;
  readonly #byReceiptTime: boolean;
  readonly #filter: MessageFilter;
  readonly #matches: MatchStore;
  #looksLeft: number;
  #row: MessageRow | undefined;
  #rank: number | undefined;

  /** Creates a search that gives up after it has examined `maxExamined` messages. */
  constructor(
    rows: SearchedRows,
    nextRank: NextRank,
    range: SearchRange,
    filter: MessageFilter,
    maxExamined: number,
    matches: MatchStore = new RankChunks(),
  ) {
    this.#matches = matches;
    this.#rows = rows;
    this.#nextRank = nextRank;
    this.#byReceiptTime = range.byReceiptTime;
    this.#filter = filter;
    this.#looksLeft = maxExamined;
    this.reachedMs = range.toMs;
  }

  get found(): number {
    return this.#matches.size;
  }

  step(targetMs: number, maxMatches: number, listener: MatchListener | undefined, effort: Effort): void {
    let timeMs = this.#rank === undefined ? this.#readNext(effort) : this.#timeMs;
    while (this.#row && timeMs >= targetMs && this.#looksLeft > 0 && this.found < maxMatches && !effort.isSpent) {
      this.#look(this.#rank as number, this.#row, listener, effort);
      timeMs = this.#readNext(effort);
    }
    this.isGivenUp = timeMs >= targetMs && this.#looksLeft <= 0;
    this.reachedMs = Math.max(targetMs, timeMs + 1);
  }

  #readNext(effort: Effort): number {
    this.#rank = this.#nextRank(effort);
    this.#row = this.#rank < 0 ? undefined : this.#rows.row(this.#rank);
    return this.#timeMs;
  }

  get #timeMs(): number {
    if (!this.#row) return Number.NEGATIVE_INFINITY;
    return this.#byReceiptTime ? this.#row.receiptTimeMs : this.#row.messageTimeMs;
  }

  #look(rank: number, row: MessageRow, listener: MatchListener | undefined, effort: Effort): void {
    this.#looksLeft--;
    const bytes = this.#rows.rawBytesOf(rank);
    this.scannedBytes += bytes;
    effort.spend(unitsPerMessage(this.#filter, bytes));
    if (!this.#filter.matches(row)) return;
    this.#matches.add(rank);
    if (!listener) return;
    effort.spend(unitsPerMessage(listener, bytes));
    listener.each(row, 1);
  }

  each(skip: number, take: (rank: number) => boolean): void {
    this.#matches.each(skip, take);
  }
}
