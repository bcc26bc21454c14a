/**
 * Interface through which search jobs read log messages.
 *
 * Equal searches find equal messages in equal order, newest first. The *rank* of a message is the number of newer
 * messages.
 */
import type { PieceMemory } from '../piece-memory.ts';
import type { FieldDescriptor, Filter, Row } from '../query/row.ts';
import type { Effort } from './effort.ts';

export interface SearchRange {
  /** Time range [from, to) of a search, in ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly byReceiptTime: boolean;
}

/** Receives the messages that a search finds. */
export interface MatchListener {
  /**
   * Receives new matches. `row` represents `times` matches that are equal in the fields `reads`. Searches by message
   * time report the newest matches first.
   */
  each(row: Row, times: number): void;
  /** Lower-case names of the fields that `each` reads. */
  readonly reads?: ReadonlySet<string> | undefined;
  /** Length in ms of the query's time slices, if the aggregation needs only the time slice of a message. */
  readonly sliceMs?: number | undefined;
  /** Estimated cost of one call of `each`. The cost of comparing two short texts is 1. */
  readonly cost?: number;
}

/** A search through log messages, from the end of its time range back to the start. It stores no messages. */
export interface Search {
  /** Continues the search back to the time `downToMs`, to `maxMatches` matches, or to the end of its computing time. */
  advance(downToMs: number, maxMatches: number, listener?: MatchListener, effort?: Effort): void;
  /** Number of matches found, at most `maxMatches`. */
  readonly found: number;
  /** Time back to which the range is searched completely. */
  readonly reachedMs: number;
  /** True if the search gave up after its maximum number of examined messages. */
  readonly isGivenUp: boolean;
  /** Bytes of all searched messages, matching or not. */
  readonly scannedBytes: number;
  /**
   * Returns the matches from `offset` to `offset + limit`. A page of more than `maxBytes` ends earlier, but has at
   * least one message.
   */
  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage;
}

/** A page of log messages as JSON, created while the page is sent. */
export interface MessagePage {
  readonly rows: number;
  readonly bytes: number;
  /**
   * Yields the messages as JSON, `{"map":{…}},{"map":{…}}`. A chunk is valid until the caller returns it to `memory`.
   */
  pieces(memory?: PieceMemory): Iterable<Uint8Array>;
}

export interface LogData {
  /** Fields of the messages, in the order of pages. */
  readonly fields: readonly FieldDescriptor[];
  /** Maximum delay in ms between message time and receipt time. Unlimited if absent. */
  readonly maxDelayMs?: number;
  /** Starts a search. The search gives up after it has examined `maxExamined` messages. */
  search(range: SearchRange, filter: Filter, maxExamined?: number): Search;
}
