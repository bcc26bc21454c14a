/**
 * The interface through which search jobs read messages. The messages come from files (`stored/`) or are generated (`made-up/`).
 *
 * Invariant: the same search always finds the same messages, in any order of searches. Messages are ordered by `_messagetime`,
 * newest first (section 4.3). Messages of one millisecond have a fixed order. The *rank* of a message is its index in this order.
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

/**
 * Receives the matches of a search, for example to aggregate them. All calls for one search must pass the same listener.
 */
export interface MatchListener {
  /**
   * Called for every new match. `times` is the number of equal matches that are reported together: 1 unless `reads` allows more.
   * In a search by message time, the newest match comes first. In a search by receipt time, the order is not defined.
   */
  each(row: Row, times: number): void;
  /**
   * Lower-case names of the message fields that `each` reads. Matches with equal values in all these fields may be
   * reported together, in any order, with their number as `times`.
   */
  readonly reads?: ReadonlySet<string> | undefined;
  /**
   * Length of time slices in ms, counted from the epoch. Set if `each` needs only the slice in which a message time lies, and not
   * the exact time. Matches that are reported together are then in one slice, and `messageTimeMs` is some time in that slice.
   */
  readonly sliceMs?: number | undefined;
  /** Estimated running time of `each`, in the unit of `Filter.cost`. */
  readonly cost?: number;
}

/**
 * A search through the data, from the end of its range to the beginning. It stores no messages.
 *
 * In a search by message time, a match stays at its offset. In a search by receipt time, a late message may be found after newer
 * messages. Pages are sorted by message time, so older matches then move to higher offsets. The number of matches never
 * decreases.
 */
export interface Search {
  /**
   * Searches until one of these is true: all messages from `downToMs` on are searched, `maxMatches` matches are found in total, or the
   * effort is used up. `downToMs` is a message time, or a receipt time if the range is one of receipt times.
   */
  advance(downToMs: number, maxMatches: number, listener?: MatchListener, effort?: Effort): void;
  /** Number of matches found so far. It never exceeds the `maxMatches` of any call. */
  readonly found: number;
  /** Start of the part of the range that is completely searched. It begins at the end of the range and moves back. */
  readonly reachedMs: number;
  /** True if the search has ended early, because it has examined its maximum number of single messages. */
  readonly isGivenUp: boolean;
  /** Bytes of all messages searched so far, matching or not. */
  readonly scannedBytes: number;
  /**
   * Returns a page with the matches from `offset` to `offset + limit`. A page that would exceed `maxBytes` of JSON ends earlier,
   * but has at least one message.
   */
  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage;
}

/** A page of `messages` (section 2.5) as JSON, in pieces that are made while they are sent. */
export interface MessagePage {
  /** Number of messages on the page. It is known before the first piece is made. */
  readonly rows: number;
  /** Total length of the page's pieces in bytes. */
  readonly bytes: number;
  /**
   * Yields the messages as JSON, `{"map":{…}},{"map":{…}}`, with commas only between messages. With `memory`, a piece is valid
   * until the caller returns the piece to `memory`. Without `memory`, all pieces stay valid.
   */
  pieces(memory?: PieceMemory): Iterable<Uint8Array>;
}

export interface LogData {
  /** Fields of the messages, in the order of pages (section 2.5). */
  readonly fields: readonly FieldDescriptor[];
  /** Maximum delay in ms between message time and receipt time. Unlimited if absent. */
  readonly maxDelayMs?: number;
  /** Begins a search. `maxExamined` is the maximum number of messages that it examines one by one. */
  search(range: SearchRange, filter: Filter, maxExamined?: number): Search;
}
