/**
 * Interface through which search jobs read log messages.
 *
 * Equal searches find the same messages in the same order, newest first. The *rank* of a message is the number of newer
 * messages.
 */
import type { PieceMemory } from '../base/piece-memory.ts';
import type { FieldDescriptor, MessageFilter, MessageRow } from '../query/row.ts';
import type { Effort } from './effort.ts';

export interface SearchRange {
  /** Time range [from, to) of a search, in ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly byReceiptTime: boolean;
}

/** Receives the messages found by a search. */
export interface MatchListener {
  /**
   * Called when the search finds new matches: `times` matches with equal values in the fields that `reads` lists. `row`
   * contains these values. A search by message time reports the newest matches first.
   */
  each(row: MessageRow, times: number): void;
  /** Lower-case names of the fields read by `each`. */
  readonly reads?: ReadonlySet<string> | undefined;
  /**
   * Length in ms of the time slices of the `timeslice` operator. Set only if the aggregation does not need exact
   * message times. All matches in a time slice can then be counted together.
   */
  readonly sliceMs?: number | undefined;
  /** Estimated cost of one call of `each`, as a multiple of the cost of comparing two short strings. */
  readonly cost?: number;
}

/** A search through log messages, from the end of its time range back to the start. It stores no messages. */
export interface MessageSearch {
  /**
   * Continues the search backwards. The search stops at `downToMs`, after `maxMatches` matches, or when its computing
   * time is used up.
   */
  advance(downToMs: number, maxMatches: number, listener?: MatchListener, effort?: Effort): void;
  /** Number of matches found, at most `maxMatches`. */
  readonly found: number;
  /** Time that the backward search has reached. All newer messages in the search's time range have been searched. */
  readonly reachedMs: number;
  /** True if the search gave up because it had examined the maximum number of messages. */
  readonly isGivenUp: boolean;
  /** Total size in bytes of all messages searched, whether they match or not. */
  readonly scannedBytes: number;
  /**
   * Returns at most `limit` matches, starting at match `offset`. The page ends earlier if it would exceed `maxBytes`,
   * but always has at least one message.
   */
  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): JsonPage;
}

/** A page of log messages as JSON, created while the page is being sent. */
export interface JsonPage {
  readonly rows: number;
  readonly bytes: number;
  /**
   * Yields the messages as JSON, `{"map":{…}},{"map":{…}}`, in chunks. After reading a chunk, the caller can return its
   * memory to `memory`.
   */
  pieces(memory?: PieceMemory): Iterable<Uint8Array>;
}

export interface LogData {
  /** Fields of the messages, in the order in which result pages list them. */
  readonly fields: readonly FieldDescriptor[];
  /** Maximum delay in ms between message time and receipt time. Unlimited if absent. */
  readonly maxDelayMs?: number;
  /** Starts a search. The search gives up after it has examined `maxExamined` messages. */
  search(range: SearchRange, filter: MessageFilter, maxExamined?: number): MessageSearch;
}
