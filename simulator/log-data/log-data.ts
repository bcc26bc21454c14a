/**
 * Interface through which search jobs read log messages.
 *
 * Equal searches find equal messages in equal order, newest first. The *rank* of a message is the number of newer
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

/** Receives the messages that a search finds. */
export interface MatchListener {
  /**
   * Called when the search finds `times` new matches with equal values in the fields `reads`. `row` contains these
   * values. A search by message time reports the newest matches first.
   */
  each(row: MessageRow, times: number): void;
  /** Lower-case names of the fields that `each` reads. */
  readonly reads?: ReadonlySet<string> | undefined;
  /**
   * Length in ms of the time slices of the operator `timeslice`. Set only if the aggregation does not need exact
   * message times. The matches of a time slice can then be counted together.
   */
  readonly sliceMs?: number | undefined;
  /** Estimated cost of calling `each` once. Comparing two short texts costs 1. */
  readonly cost?: number;
}

/** A search through log messages, from the end of its time range back to the start. It stores no messages. */
export interface MessageSearch {
  /**
   * Continues the search backwards. The search stops at the time `downToMs`, after `maxMatches` matches, or when its
   * computing time is used up.
   */
  advance(downToMs: number, maxMatches: number, listener?: MatchListener, effort?: Effort): void;
  /** Number of matches found, at most `maxMatches`. */
  readonly found: number;
  /**
   * Time that the backward search has reached. All messages of the range that are newer than this time have been
   * searched.
   */
  readonly reachedMs: number;
  /** True if the search gave up after its maximum number of examined messages. */
  readonly isGivenUp: boolean;
  /** Bytes of all searched messages, matching or not. */
  readonly scannedBytes: number;
  /**
   * Returns at most `limit` matches, starting with match number `offset`. The page ends earlier if it would exceed
   * `maxBytes`, but it has at least one message.
   */
  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): JsonPage;
}

/** A page of log messages as JSON, created while the page is sent. */
export interface JsonPage {
  readonly rows: number;
  readonly bytes: number;
  /**
   * Yields the messages as JSON, `{"map":{…}},{"map":{…}}`, in chunks. After reading a chunk, the caller can give its
   * memory back to `memory`.
   */
  pieces(memory?: PieceMemory): Iterable<Uint8Array>;
}

export interface LogData {
  /** Fields of the messages, in the order of pages. */
  readonly fields: readonly FieldDescriptor[];
  /** Maximum delay in ms between message time and receipt time. Unlimited if absent. */
  readonly maxDelayMs?: number;
  /** Starts a search. The search gives up after it has examined `maxExamined` messages. */
  search(range: SearchRange, filter: MessageFilter, maxExamined?: number): MessageSearch;
}
