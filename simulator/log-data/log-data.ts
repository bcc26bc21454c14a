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
   * Receives `times` new matches that have equal values in the fields `reads`. `row` contains these values. A search by
   * message time reports the newest matches first.
   */
  each(row: Row, times: number): void;
  /** Lower-case names of the fields that `each` reads. */
  readonly reads?: ReadonlySet<string> | undefined;
  /**
   * Length in ms of the time slices of the operator `timeslice`. Set only if the aggregation needs no exact message
   * times, so that the matches of a time slice can be counted together.
   */
  readonly sliceMs?: number | undefined;
  /** Estimated cost of one call of `each`, as a multiple of the cost of comparing two short texts. */
  readonly cost?: number;
}

/** A search through log messages, from the end of its time range back to the start. It stores no messages. */
export interface Search {
  /**
   * Continues the search backwards. The search stops at the time `downToMs`, after `maxMatches` matches, or when its
   * computing time is used up.
   */
  advance(downToMs: number, maxMatches: number, listener?: MatchListener, effort?: Effort): void;
  /** Number of matches found, at most `maxMatches`. */
  readonly found: number;
  /** Time that the backward search has reached. All later messages of the range have been searched. */
  readonly reachedMs: number;
  /** True if the search gave up after its maximum number of examined messages. */
  readonly isGivenUp: boolean;
  /** Bytes of all searched messages, matching or not. */
  readonly scannedBytes: number;
  /**
   * Returns the matches from `offset` to `offset + limit`. A page that would exceed `maxBytes` ends earlier, but has at
   * least one message.
   */
  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage;
}

/** A page of log messages as JSON, created while the page is sent. */
export interface MessagePage {
  readonly rows: number;
  readonly bytes: number;
  /**
   * Yields chunks of the messages' JSON, `{"map":{…}},{"map":{…}}`. The caller can give the memory of a chunk back to
   * `memory`. After that, the chunk must not be read.
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
