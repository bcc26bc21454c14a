/**
 * What a job has found so far: messages, records, buckets. How far it should be at a time is told to it; what it costs to get
 * there is paid when somebody asks.
 */
import { assert } from '../../base/assert.ts';
import type { Effort } from '../log-data/effort.ts';
import type { LogData, Search, SearchRange, Telling } from '../log-data/log-data.ts';
import type { AggregationMemory } from '../query/aggregation-memory.ts';
import type { Aggregation, Query, RecordTable } from '../query/query.ts';
import type { Filter } from '../query/row.ts';
import { emptyPage, type FoundMessages, parsedMessages, storedMessages } from './found-messages.ts';
import { Histogram } from './histogram.ts';

export interface ResultOptions {
  readonly query: Query;
  readonly range: SearchRange;
  readonly data: LogData;
  /** Messages that the service lets a search without aggregation have. */
  readonly messageLimit: number;
  /** Messages that it may look at one by one. */
  readonly scanLimit: number;
  /** Messages that are received later are not found, ms since the epoch. */
  readonly receivedByMs: number;
  /** Width of a bucket; a fitting one where undefined. */
  readonly bucketMs: number | undefined;
  /** Whether buckets are found ahead of messages. */
  readonly histogramFirst: boolean;
  /** What it takes from when it goes on. */
  readonly effort: Effort;
  /** What its aggregation shares with others; one of its own where absent. */
  readonly memory?: AggregationMemory;
}

export interface PageRequest {
  readonly offset: number;
  readonly limit: number;
  /** Of the messages together. */
  readonly maxBytes: number;
  readonly withRaw: boolean;
}

export class SearchResults {
  readonly histogram: Histogram;
  readonly #options: ResultOptions;
  readonly #search: Search;
  readonly #histogramSearch: Search;
  readonly #aggregation: Aggregation | undefined;
  readonly #telling: Telling | undefined;
  readonly #mostMessages: number;

  constructor(options: ResultOptions) {
    const { query, range, data, messageLimit, scanLimit, receivedByMs, bucketMs, histogramFirst, memory } = options;
    const filter = areAllReceived(options) ? filterOf(query) : receivedBy(receivedByMs, filterOf(query));
    this.#options = options;
    this.#search = data.search(range, filter, scanLimit);
    this.#histogramSearch = histogramFirst ? data.search(range, filter, scanLimit) : this.#search;
    this.histogram = new Histogram(range.fromMs, range.toMs, bucketMs);
    this.#aggregation = query.aggregate?.(memory);
    this.#telling = this.#aggregation && tellingTo(this.#aggregation, query);
    this.#mostMessages = Math.min(
      query.messageLimit ?? Number.POSITIVE_INFINITY,
      this.#aggregation ? Number.POSITIVE_INFINITY : messageLimit,
    );
  }

  /**
   * Goes on until everything of `reachedMs` and later is found, and buckets of `histogramReachedMs` and later, or the effort is
   * spent; whether it is there, or goes on no further.
   */
  advance(reachedMs: number, histogramReachedMs: number): boolean {
    const counting = this.#histogramSearch;
    if (counting === this.#search) return this.#go(counting, reachedMs, this.histogram);
    const isCounted = this.#go(counting, histogramReachedMs, this.histogram);
    return this.#go(this.#search, reachedMs) && isCounted;
  }

  #go(search: Search, targetMs: number, histogram?: Histogram): boolean {
    const { effort } = this.#options;
    const telling = search === this.#search ? this.#telling : undefined;
    for (;;) {
      const stopMs = Math.max(targetMs, histogram?.nextStopMs ?? targetMs);
      search.advance(stopMs, this.#mostMessages, telling, effort);
      if (search.found >= this.#mostMessages || search.isGivenUp) {
        histogram?.close(search.found);
        return true;
      }
      if (search.reachedMs > stopMs) return false;
      if (stopMs === histogram?.nextStopMs) histogram.close(search.found);
      else return true;
    }
  }

  /** Gives back what it keeps; nobody asks any more. */
  end(): void {
    this.#aggregation?.end();
  }

  get messages(): number {
    return this.#search.found;
  }

  get records(): number {
    return this.#aggregation?.recordCount ?? 0;
  }

  /** Why not all is found, for people: the aggregation was given up, or the search. Undefined where neither was. */
  get failure(): string | undefined {
    if (this.#aggregation?.failure !== undefined) return this.#aggregation.failure;
    return this.isGivenUp
      ? `The search ended after ${this.#options.scanLimit} messages that it had to look at one by one.`
      : undefined;
  }

  /** Whether it goes on no further since it has looked at as many messages as it may. */
  get isGivenUp(): boolean {
    return this.#search.isGivenUp || this.#histogramSearch.isGivenUp;
  }

  /** Whether no bucket will be added. */
  get hasAllBuckets(): boolean {
    return this.histogram.nextStopMs === Number.NEGATIVE_INFINITY || this.fullBy !== undefined || this.isGivenUp;
  }

  get scannedBytes(): number {
    return this.#search.scannedBytes;
  }

  /** Whether it has all the messages that it may have: of the service, or of the query's own `limit`. */
  get fullBy(): 'service' | 'query' | undefined {
    if (this.messages < this.#mostMessages) return undefined;
    return this.#options.query.messageLimit === this.#mostMessages ? 'query' : 'service';
  }

  page(request: PageRequest): FoundMessages {
    const { query, data } = this.#options;
    if (request.limit === 0) return { fields: data.fields, page: emptyPage };
    return query.transform
      ? parsedMessages(this.#search, data.fields, query.transform, request)
      : storedMessages(this.#search, data.fields, request);
  }

  /** Of an aggregation. */
  table(): RecordTable {
    assert(this.#aggregation, 'only an aggregation has records');
    return this.#aggregation.table();
  }
}

function tellingTo(aggregation: Aggregation, { transform, reads, sliceMs }: Query): Telling {
  return {
    each(row, times) {
      // One that was given up has no records whatever comes.
      if (aggregation.failure !== undefined) return;
      const seen = transform ? transform.apply(row) : row;
      if (seen) aggregation.add(seen, times);
    },
    reads,
    sliceMs,
    cost: 5 + (transform?.cost ?? 0),
  };
}

/** Whoever parses may drop messages, too: these are not found. */
function filterOf({ filter, transform }: Query): Filter {
  const keepsRows = transform?.keepsRows;
  if (!keepsRows) return filter;
  const reads = new Set([...filter.reads, ...keepsRows.reads]);
  const cost = (filter.cost ?? 1) + (keepsRows.cost ?? 1);
  return { reads, cost, matches: (row) => filter.matches(row) && keepsRows.matches(row) };
}

/** Whether the range alone says that all of its messages were received by then, so that none has to be looked at for that. */
function areAllReceived({ data, range, receivedByMs }: ResultOptions): boolean {
  const { mostDelayMs = Number.POSITIVE_INFINITY } = data;
  const longestMs = range.byReceiptTime ? 0 : mostDelayMs;
  return receivedByMs === Number.POSITIVE_INFINITY || range.toMs - 1 + longestMs <= receivedByMs;
}

function receivedBy(latestMs: number, filter: Filter): Filter {
  const reads = new Set([...filter.reads, '_receipttime']);
  return { ...filter, reads, matches: (row) => row.receiptTimeMs <= latestMs && filter.matches(row) };
}
