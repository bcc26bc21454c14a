/**
 * Log messages sent by the simulated collectors. Some aggregations, such as `count by _collectorid`, need only the
 * number of messages. For such aggregations, messages are counted but not created.
 */
import type { MessageFilter, MessageRow } from '../../query/row.ts';
import { DataSearch, type Finder } from '../data-search.ts';
import { Effort } from '../effort.ts';
import { speltFields } from '../field-case.ts';
import type { LogData, MatchListener, SearchRange } from '../log-data.ts';
import { type MatchStore, MessageFinder, type NextRank } from '../message-finder.ts';
import { rawBytesOf, ShippedRows, streamFields } from './shipped-rows.ts';
import { maxDelayMs, type Stream } from './streams.ts';

export interface ShippedDataOptions {
  readonly streams: readonly Stream[];
  /** Time of the first message, in ms since the epoch. */
  readonly startMs: number;
  /** Time in ms since the epoch. Searches ignore messages received at or after this time. */
  readonly receivedBeforeMs: number;
  readonly seed: number;
}

export function shippedData(options: ShippedDataOptions): LogData {
  const { streams, startMs, seed } = options;
  const rows = new ShippedRows(streams, startMs, seed);
  return {
    fields: speltFields('specified'),
    maxDelayMs,
    search(range: SearchRange, filter: MessageFilter, maxExamined = Number.POSITIVE_INFINITY) {
      const single = () =>
        new MessageFinder(rows, ranksOf(rows, range, options), range, filter, maxExamined, new RankList());
      const finder = isOfStream(filter.reads) ? new StreamFinder(rows, range, options, filter, single) : single();
      return new DataSearch(rows, range, finder);
    },
  };
}

function isOfStream(reads: ReadonlySet<string> | undefined): boolean {
  return reads !== undefined && [...reads].every((name) => streamFields.has(name));
}

/**
 * Converts the time range of a search to a range of message times. For a search by receipt time, subtracts the message
 * delay.
 */
function messageTimes(
  { delayMs }: Stream,
  [fromMs, toMs]: readonly [number, number],
  byReceiptTime: boolean,
  { startMs, receivedBeforeMs }: ShippedDataOptions,
): [number, number] {
  const shiftMs = byReceiptTime ? delayMs : 0;
  return [Math.max(fromMs - shiftMs, startMs), Math.min(toMs - shiftMs, receivedBeforeMs - delayMs)];
}

/** Returns the ranks (numbers of newer messages) of the messages in a range, newest message first. */
function ranksOf(rows: ShippedRows, range: SearchRange, options: ShippedDataOptions): NextRank {
  const ranks = latestFirst(rows, range, options);
  return () => ranks.next().value ?? -1;
}

/** Approximate maximum number of messages created in one search step. */
const batchRows = 5_000;

function* latestFirst(
  rows: ShippedRows,
  { fromMs, toMs, byReceiptTime }: SearchRange,
  options: ShippedDataOptions,
): Generator<number, undefined> {
  const { streams, startMs, receivedBeforeMs } = options;
  const earliestMs = Math.max(fromMs, startMs);
  let lengthMs = 1_000;
  for (let endMs = Math.min(toMs, receivedBeforeMs); endMs > earliestMs; ) {
    const beginMs = Math.max(earliestMs, endMs - lengthMs);
    const batch: { readonly timeMs: number; readonly rank: number }[] = [];
    for (const stream of streams) {
      const shiftMs = byReceiptTime ? stream.delayMs : 0;
      for (const timeMs of stream.times(...messageTimes(stream, [beginMs, endMs], byReceiptTime, options))) {
        batch.push({ timeMs: timeMs + shiftMs, rank: rows.rankOf(timeMs, stream) });
      }
    }
    batch.sort((left, right) => right.timeMs - left.timeMs || left.rank - right.rank);
    for (const { rank } of batch) yield rank;
    endMs = beginMs;
    lengthMs = Math.ceil(
      batch.length > batchRows ? lengthMs / 2 : batch.length < batchRows / 4 ? lengthMs * 2 : lengthMs,
    );
  }
  return undefined;
}

/** Stores the rank (number of newer messages) of each matching message. Used if there are few matches, far apart. */
class RankList implements MatchStore {
  readonly #ranks: number[] = [];
  #isSorted = true;

  get size(): number {
    return this.#ranks.length;
  }

  add(rank: number): void {
    this.#isSorted &&= rank > (this.#ranks.at(-1) ?? -1);
    this.#ranks.push(rank);
  }

  each(skip: number, take: (rank: number) => boolean): void {
    if (!this.#isSorted) this.#ranks.sort((left, right) => left - right);
    this.#isSorted = true;
    for (let place = skip; place < this.#ranks.length; place++) if (!take(this.#ranks[place] as number)) return;
  }
}

/** Maximum length in ms of the time range in which a search step counts messages. */
const countedMs = 60 * 60_000;

/**
 * A search whose filter gives the same result for all messages of a collector. It counts messages, and creates them
 * only if their fields are needed.
 */
class StreamFinder implements Finder {
  readonly #range: SearchRange;
  readonly #options: ShippedDataOptions;
  readonly #matching: readonly (readonly [stream: Stream, row: MessageRow | undefined])[];
  readonly #makeSingle: () => MessageFinder;
  /** Search that examines messages one by one. Undefined as long as counting the messages is sufficient. */
  #single: MessageFinder | undefined;
  /** Search that examines messages one by one to fill result pages. */
  #pages: MessageFinder | undefined;
  #found = 0;
  #reachedMs: number;
  #scannedBytes = 0;

  constructor(
    rows: ShippedRows,
    range: SearchRange,
    options: ShippedDataOptions,
    filter: MessageFilter,
    makeSingle: () => MessageFinder,
  ) {
    this.#range = range;
    this.#options = options;
    this.#makeSingle = makeSingle;
    this.#reachedMs = range.toMs;
    this.#matching = options.streams.map((stream) => {
      const row = rows.row(rows.rankOf(options.startMs, stream));
      return [stream, filter.matches(row) ? row : undefined] as const;
    });
  }

  get found(): number {
    return this.#single?.found ?? this.#found;
  }

  get reachedMs(): number {
    return this.#single?.reachedMs ?? this.#reachedMs;
  }

  get scannedBytes(): number {
    return this.#single?.scannedBytes ?? this.#scannedBytes;
  }

  get isGivenUp(): boolean {
    return this.#single?.isGivenUp ?? false;
  }

  step(targetMs: number, maxMatches: number, listener: MatchListener | undefined, effort: Effort): void {
    const isCounted = !listener || (isOfStream(listener.reads) && listener.sliceMs === undefined);
    const mayCount = isCounted && maxMatches === Number.POSITIVE_INFINITY;
    if (this.#single || !mayCount) {
      this.#single = this.#examined();
      this.#single.step(targetMs, maxMatches, listener, effort);
      return;
    }
    const fromMs = Math.max(targetMs, this.#reachedMs - countedMs);
    for (const [stream, row] of this.#matching) {
      const part = [fromMs, this.#reachedMs] as const;
      const count = stream.count(...messageTimes(stream, part, this.#range.byReceiptTime, this.#options));
      this.#scannedBytes += count * rawBytesOf(stream);
      if (!row || count === 0) continue;
      this.#found += count;
      listener?.each(row, count);
    }
    effort.spend(this.#matching.length);
    this.#reachedMs = fromMs;
  }

  each(skip: number, take: (rank: number) => boolean): void {
    this.#examined().each(skip, take);
  }

  /**
   * Returns a search that examines messages one by one. This search has already examined all messages at or after
   * `reachedMs`.
   */
  #examined(): MessageFinder {
    if (this.#single) return this.#single;
    this.#pages ??= this.#makeSingle();
    this.#pages.step(this.#reachedMs, Number.POSITIVE_INFINITY, undefined, new Effort());
    return this.#pages;
  }
}
