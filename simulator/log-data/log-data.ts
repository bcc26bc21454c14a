/**
 * The port through which search jobs read messages. The messages come from files or are generated.
 *
 * Invariant: the same question always has the same answer, in any order of questions. Messages are ordered by `_messagetime`, newest
 * first (4.3). Messages of one millisecond have a fixed order.
 */
import type { PieceMemory } from '../piece-memory.ts';
import type { FieldDescriptor, Filter, Row } from '../query/row.ts';
import type { Effort } from './effort.ts';

export interface SearchRange {
  /** The range [from, to) of the message time or receipt time, in ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly byReceiptTime: boolean;
}

/** Receives the matches of a search. A search gets the same object in all calls. */
export interface MatchListener {
  /**
   * Called for every new match, `times` being 1. By message time, the newest match comes first; by receipt time, the order is not
   * defined.
   */
  each(row: Row, times: number): void;
  /**
   * Lower-case names of the fields that `each` reads. Matches that agree in all of them may be reported once, with their number as
   * `times`, in any order.
   */
  readonly reads?: ReadonlySet<string> | undefined;
  /**
   * Length of the slices of message time, counted from the epoch, if `each` reads only the slice of a message. Then matches that are
   * reported together share a slice, and `messageTimeMs` is some time in it.
   */
  readonly sliceMs?: number | undefined;
  /** Approximate cost of `each`, in the unit of `Filter.cost`. */
  readonly cost?: number;
}

/**
 * A search through the data, from the end of its range to the beginning. It stores no message.
 *
 * By message time, a match stays at its offset. By receipt time, a late message may be found after newer ones; pages are sorted by
 * message time, so that older matches move to higher offsets. The number of matches never decreases.
 */
export interface Search {
  /**
   * Searches until all messages of `downToMs` and later are searched, `maxMatches` matches are found in total, or the effort is spent.
   * `downToMs` is a message time or a receipt time.
   */
  advance(downToMs: number, maxMatches: number, listener?: MatchListener, effort?: Effort): void;
  /** Number of matches so far. Never above the `maxMatches` of any call. */
  readonly found: number;
  /** Time from which all messages are searched. The end of the range at first. */
  readonly reachedMs: number;
  /** True if the search stopped because it has looked at its maximum of single messages. This depends on the data alone. */
  readonly isGivenUp: boolean;
  /** Bytes of all searched messages, matching or not. */
  readonly scannedBytes: number;
  /** Returns the matches from `offset` to `offset + limit`. The page ends earlier at `maxBytes` of JSON, but has at least one message. */
  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage;
}

/** A page of `messages` (2.5) as JSON, in pieces that are made while they are sent. */
export interface MessagePage {
  /** Number of messages. Known before the first piece is made. */
  readonly rows: number;
  /** Total length of the pieces. */
  readonly bytes: number;
  /**
   * Yields `{"map":{…}},{"map":{…}}`: commas only between messages. With `memory`, a piece is valid until the caller gives it back;
   * without, it stays valid.
   */
  pieces(memory?: PieceMemory): Iterable<Uint8Array>;
}

export interface LogData {
  /** Fields of the messages, in the order of pages (2.5). */
  readonly fields: readonly FieldDescriptor[];
  /** Maximum delay between message time and receipt time. Unlimited if absent. */
  readonly maxDelayMs?: number;
  /** Begins a search. `maxLooks` is the maximum number of messages that it looks at one by one. */
  search(range: SearchRange, filter: Filter, maxLooks?: number): Search;
}
