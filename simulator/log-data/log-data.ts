/**
 * The interface through which search jobs read log messages, which come from files (`stored/`) or are generated (`made-up/`).
 *
 * Invariant: equal searches find equal messages in equal order: newest `_messagetime` first (service.md 4.3), with a fixed
 * order in each millisecond. The *rank* of a message is the number of messages before it in this order.
 */
import type { PieceMemory } from '../piece-memory.ts';
import type { FieldDescriptor, Filter, Row } from '../query/row.ts';
import type { Effort } from './effort.ts';

export interface SearchRange {
  /** Time range [from, to) of a search, by message time or receipt time, in ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly byReceiptTime: boolean;
}

/** Receives the messages that a search finds, for example to aggregate them. */
export interface MatchListener {
  /**
   * Receives new matches. `row` stands for `times` matches, which are equal in the fields `reads`. Without `reads`, `times` is
   * 1. Matches come newest first in a search by message time, and in any order in a search by receipt time.
   */
  each(row: Row, times: number): void;
  /**
   * Lower-case names of the fields that `each` reads. One call of `each` may report several matches that are equal in these
   * fields.
   */
  readonly reads?: ReadonlySet<string> | undefined;
  /**
   * Length in ms of time slices, counted from the epoch. Set if the aggregation needs only the slice of a message, not its
   * exact time. Matches of a slice may then be reported in one call, with any time of the slice as `messageTimeMs`.
   */
  readonly sliceMs?: number | undefined;
  /** Estimated computing time of one call of `each`, as a multiple of the time to compare two short texts. */
  readonly cost?: number;
}

/**
 * A search through log messages, from the end of its time range back to the start. It stores no messages. `found` never
 * decreases.
 *
 * Pages are sorted by message time. A search by receipt time may find newer messages after older ones, and the older ones then
 * move to higher offsets on the pages.
 */
export interface Search {
  /**
   * Continues the search until it has reached the time `downToMs`, has found `maxMatches` matches in total, or has used up its
   * computing time. `downToMs` is a receipt time in a search by receipt time, and otherwise a message time.
   */
  advance(downToMs: number, maxMatches: number, listener?: MatchListener, effort?: Effort): void;
  /** Number of matches found so far, never above `maxMatches`. */
  readonly found: number;
  /** Time back to which the range has been searched completely. Before the first step, this is the end of the range. */
  readonly reachedMs: number;
  /** True if the search gave up, because it has examined its maximum number of messages one by one. */
  readonly isGivenUp: boolean;
  /** Bytes of all messages searched so far, matching or not. */
  readonly scannedBytes: number;
  /**
   * Returns a page with the matches from `offset` to `offset + limit`. A page that would exceed `maxBytes` of JSON ends earlier,
   * but has at least one message.
   */
  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage;
}

/** A page of log messages (service.md 2.5) as JSON, in chunks of bytes that are created while the page is sent. */
export interface MessagePage {
  readonly rows: number;
  readonly bytes: number;
  /**
   * Yields the messages as JSON, `{"map":{…}},{"map":{…}}`, in chunks of bytes. With `memory`, the caller returns each chunk to
   * `memory` for reuse, and the chunk is valid until then.
   */
  pieces(memory?: PieceMemory): Iterable<Uint8Array>;
}

export interface LogData {
  /** Fields of the messages, in the order of pages (service.md 2.5). */
  readonly fields: readonly FieldDescriptor[];
  /** Maximum delay in ms between message time and receipt time. Unlimited if absent. */
  readonly maxDelayMs?: number;
  /** Starts a search, which gives up after it has examined `maxExamined` messages one by one. */
  search(range: SearchRange, filter: Filter, maxExamined?: number): Search;
}
