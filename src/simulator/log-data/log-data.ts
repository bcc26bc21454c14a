/**
 * Where the messages of the simulated service come from: the port that search jobs read. Behind it stand messages from files and
 * messages that are made up when they are asked for.
 *
 * Invariant: the same data give the same answer whenever and however often they are asked, in any order of questions. Messages come
 * newest first by `_messagetime` (4.3); those that share a millisecond in an order that never changes.
 */
import type { PieceMemory } from '../piece-memory.ts';
import type { FieldDescriptor, Filter, Row } from '../query/row.ts';
import type { Effort } from './effort.ts';

export interface SearchRange {
  /** ms since the epoch, [from, to) of the message time, or of the receipt time. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly byReceiptTime: boolean;
}

/** To whom a search tells what it finds; the same object in all calls of one search. */
export interface Telling {
  /** Called for every new match, `times` being 1, newest first (by receipt time: in no order). */
  each(row: Row, times: number): void;
  /** The fields in lower case that decide what `each` does: matches that agree in all of them may come as one, `times` over, in any order. */
  readonly reads?: ReadonlySet<string> | undefined;
  /**
   * What decides besides is the slice of this length in which the message time lies, slices being counted from the epoch: matches
   * that come as one share it, and `messageTimeMs` of their row is any time in it.
   */
  readonly sliceMs?: number | undefined;
  /** About how dear `each` is, as the cost of a filter. */
  readonly cost?: number;
}

/**
 * One search through the data, from the end of its range to its beginning. It remembers no message, only how to find each again.
 *
 * By message time what is found stays at its offset. By receipt time it need not: pages come by message time all the same, so
 * that a late message that is found further on moves those that are older than it. Counts only grow either way.
 */
export interface Search {
  /**
   * Goes on until every message of `downToMs` and later (by message time, or by receipt time) is found, or `mostMatches` are, those
   * of former calls among them, or the effort is spent.
   */
  advance(downToMs: number, mostMatches: number, telling?: Telling, effort?: Effort): void;
  /** Matches found so far; never above the `mostMatches` of any call. */
  readonly found: number;
  /** All messages of this time and later have been looked at; the range's end at first. */
  readonly reachedMs: number;
  /** Whether it goes on no further since it has looked at as many messages one by one as it may; where that shows depends on the data alone. */
  readonly isGivenUp: boolean;
  /** Bytes of all messages that were looked at, matching or not. */
  readonly scannedBytes: number;
  /** Matches `offset` to `offset + limit` of those found so far, ended earlier by `maxBytes` of JSON (never below one message). */
  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): MessagePage;
}

/** Elements of `messages` (2.5) as JSON, ready to be sent, in pieces that are made when they are taken. */
export interface MessagePage {
  /** How many messages it has; known before the first piece is made. */
  readonly rows: number;
  /** Length of all pieces together. */
  readonly bytes: number;
  /**
   * `{"map":{…}},{"map":{…}}`: commas between messages, none at the ends. A piece stays as it is once it was given out; with
   * `memory`, until it is given back to it.
   */
  pieces(memory?: PieceMemory): Iterable<Uint8Array>;
}

export interface LogData {
  /** Fields of messages, in the order in which pages name them (2.5). */
  readonly fields: readonly FieldDescriptor[];
  /** No message is received later than so long after its own time; without bound where absent. */
  readonly mostDelayMs?: number;
  /** `mostLooks`: messages that the search may look at one by one; without end where absent. */
  search(range: SearchRange, filter: Filter, mostLooks?: number): Search;
}
