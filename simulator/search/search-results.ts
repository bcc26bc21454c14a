/** A search job's messages, records and histogram. The search runs only when a request needs its results. */
import { assert } from '../../src/base/assert.ts';
import type { Effort } from '../log-data/effort.ts';
import type { LogData, MatchListener, MessageSearch, SearchRange } from '../log-data/log-data.ts';
import type { Aggregation, RecordTable } from '../query/aggregation.ts';
import type { AggregationMemory } from '../query/aggregation-memory.ts';
import type { Query } from '../query/query.ts';
import type { MessageFilter } from '../query/row.ts';
import type { MessagePageOptions } from './found-messages.ts';
import { type FoundMessages, parsedMessages, storedMessages } from './found-messages.ts';
import { SimulatedHistogram } from './histogram.ts';

export interface ResultOptions {
  readonly query: Query;
  readonly range: SearchRange;
  readonly data: LogData;
  /** Maximum number of messages that a search without an aggregation can return. */
  readonly messageLimit: number;
  /** Maximum number of messages that a search examines individually. */
  readonly scanLimit: number;
  /** Latest receipt time of messages that the search can find, in ms since the epoch. */
  readonly receivedByMs: number;
  /** Width of a histogram bucket in ms. By default, the simulator chooses the width. */
  readonly bucketMs: number | undefined;
  /** Whether the histogram is completed early, before the search has found all messages. */
  readonly histogramFirst: boolean;
  /** Computing time available to the search. */
  readonly effort: Effort;
  /** Memory shared by all aggregations. */
  readonly memory?: AggregationMemory;
}

export class SearchResults {
  readonly histogram: SimulatedHistogram;
  readonly #options: ResultOptions;
  readonly #search: MessageSearch;
  readonly #histogramSearch: MessageSearch;
  readonly #aggregation: Aggregation | undefined;
  readonly #listener: MatchListener | undefined;
  readonly #maxMessages: number;

  constructor(options: ResultOptions) {
    const { query, range, data, messageLimit, scanLimit, receivedByMs, bucketMs, histogramFirst, memory } = options;
    const filter = areAllReceived(options) ? filterOf(query) : receivedBy(receivedByMs, filterOf(query));
    this.#options = options;
    this.#search = data.search(range, filter, scanLimit);
    this.#histogramSearch = histogramFirst ? data.search(range, filter, scanLimit) : this.#search;
    this.histogram = new SimulatedHistogram(range.fromMs, range.toMs, bucketMs);
    this.#aggregation = query.aggregate?.(memory);
    this.#listener = this.#aggregation && listenerOf(this.#aggregation, query);
    this.#maxMessages = Math.min(
      query.messageLimit ?? Number.POSITIVE_INFINITY,
      this.#aggregation ? Number.POSITIVE_INFINITY : messageLimit,
    );
  }

  /**
   * Continues the search backwards in time to `reachedMs`, and counts messages for the histogram back to
   * `histogramReachedMs`. Returns false if the computing time runs out first.
   */
  advance(reachedMs: number, histogramReachedMs: number): boolean {
    const counting = this.#histogramSearch;
    if (counting === this.#search) return this.#go(counting, reachedMs, this.histogram);
    const isCounted = this.#go(counting, histogramReachedMs, this.histogram);
    return this.#go(this.#search, reachedMs) && isCounted;
  }

  #go(search: MessageSearch, targetMs: number, histogram?: SimulatedHistogram): boolean {
    const { effort } = this.#options;
    const listener = search === this.#search ? this.#listener : undefined;
    for (;;) {
      const stopMs = Math.max(targetMs, histogram?.nextStopMs ?? targetMs);
      search.advance(stopMs, this.#maxMessages, listener, effort);
      if (search.found >= this.#maxMessages || search.isGivenUp) {
        histogram?.close(search.found);
        return true;
      }
      if (search.reachedMs > stopMs) return false;
      if (stopMs === histogram?.nextStopMs) histogram.close(search.found);
      else return true;
    }
  }

  /** Frees the memory held by the results. No other method may be called afterwards. */
  end(): void {
    this.#aggregation?.end();
  }

  get messages(): number {
    return this.#search.found;
  }

  get records(): number {
    return this.#aggregation?.recordCount ?? 0;
  }

  /** Error message if the search used too much memory or examined too many messages, otherwise undefined. */
  get failure(): string | undefined {
    if (this.#aggregation?.failure !== undefined) return this.#aggregation.failure;
    return this.isGivenUp
      ? `The search ended after ${this.#options.scanLimit} messages, because it had to examine them one by one.`
      : undefined;
  }

  get isGivenUp(): boolean {
    return this.#search.isGivenUp || this.#histogramSearch.isGivenUp;
  }

  /** True if the histogram is complete. */
  get hasAllBuckets(): boolean {
    return this.histogram.nextStopMs === Number.NEGATIVE_INFINITY;
  }

  get scannedBytes(): number {
    return this.#search.scannedBytes;
  }

  /**
   * Source of the message limit that ended the search: the `service`, or a `limit` operator in the `query`. Undefined
   * if the search has reached no limit.
   */
  get fullBy(): 'service' | 'query' | undefined {
    if (this.messages < this.#maxMessages) return undefined;
    return this.#options.query.messageLimit === this.#maxMessages ? 'query' : 'service';
  }

  page(request: MessagePageOptions): FoundMessages {
    const { query, data } = this.#options;
    return query.transform
      ? parsedMessages(this.#search, data.fields, query.transform, request)
      : storedMessages(this.#search, data.fields, request);
  }

  table(): RecordTable {
    assert(this.#aggregation, 'only an aggregation has records');
    return this.#aggregation.table();
  }
}

function listenerOf(aggregation: Aggregation, { transform, reads, sliceMs }: Query): MatchListener {
  return {
    each(row, times) {
      if (aggregation.failure !== undefined) return;
      const seen = transform ? transform.apply(row) : row;
      if (seen) aggregation.add(seen, times);
    },
    reads,
    sliceMs,
    cost: 5 + (transform?.cost ?? 0),
  };
}

/** Returns a filter for messages that the query selects and no operator drops. */
function filterOf({ filter, transform }: Query): MessageFilter {
  const keepsRows = transform?.keepsRows;
  if (!keepsRows) return filter;
  const reads = new Set([...filter.reads, ...keepsRows.reads]);
  const cost = (filter.cost ?? 1) + (keepsRows.cost ?? 1);
  return { reads, cost, matches: (row) => filter.matches(row) && keepsRows.matches(row) };
}

/**
 * Reports whether even the most delayed messages of the range were received early enough for the search to find them.
 * If so, the search need not check receipt times.
 */
function areAllReceived({ data, range, receivedByMs }: ResultOptions): boolean {
  const { maxDelayMs = Number.POSITIVE_INFINITY } = data;
  const longestMs = range.byReceiptTime ? 0 : maxDelayMs;
  return receivedByMs === Number.POSITIVE_INFINITY || range.toMs - 1 + longestMs <= receivedByMs;
}

function receivedBy(latestMs: number, filter: MessageFilter): MessageFilter {
  const reads = new Set([...filter.reads, '_receipttime']);
  return { ...filter, reads, matches: (row) => row.receiptTimeMs <= latestMs && filter.matches(row) };
}
