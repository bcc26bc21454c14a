/**
 * What a job has found so far: messages, records, buckets. How far it should be at a time is told to it; what it costs to get
 * there is paid when somebody asks.
 */
import { assert } from '../../base/assert.ts';
import type { LogData, Search, SearchRange } from '../log-data/log-data.ts';
import type { Aggregation, Query, RecordTable } from '../query/query.ts';
import type { Filter, Row } from '../query/row.ts';
import { emptyPage, type FoundMessages, parsedMessages, storedMessages } from './found-messages.ts';
import { Histogram } from './histogram.ts';

export interface ResultOptions {
  readonly query: Query;
  readonly range: SearchRange;
  readonly data: LogData;
  /** Messages that the service lets a search without aggregation have. */
  readonly messageLimit: number;
  /** Messages that are received later are not found, ms since the epoch. */
  readonly receivedByMs: number;
  /** Width of a bucket; a fitting one where undefined. */
  readonly bucketMs: number | undefined;
  /** Whether buckets are found ahead of messages. */
  readonly histogramFirst: boolean;
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
  readonly #mostMessages: number;

  constructor(options: ResultOptions) {
    const { query, range, data, messageLimit, receivedByMs, bucketMs, histogramFirst } = options;
    const filter = receivedBy(receivedByMs, filterOf(query));
    this.#options = options;
    this.#search = data.search(range, filter);
    this.#histogramSearch = histogramFirst ? data.search(range, filter) : this.#search;
    this.histogram = new Histogram(this.#histogramSearch, range.fromMs, range.toMs, bucketMs);
    this.#aggregation = query.aggregate?.();
    this.#mostMessages = Math.min(
      query.messageLimit ?? Number.POSITIVE_INFINITY,
      this.#aggregation ? Number.POSITIVE_INFINITY : messageLimit,
    );
  }

  /** Goes on until everything of `reachedMs` and later is found, and buckets of `histogramReachedMs` and later. */
  advance(reachedMs: number, histogramReachedMs: number): void {
    const { query } = this.#options;
    const aggregation = this.#aggregation;
    if (this.#histogramSearch !== this.#search) this.#histogramSearch.advance(histogramReachedMs, this.#mostMessages);
    if (!aggregation) {
      this.#search.advance(reachedMs, this.#mostMessages);
      return;
    }
    const add = (row: Row, times: number) => {
      const seen = query.transform ? query.transform.apply(row) : row;
      if (seen) aggregation.add(seen, times);
    };
    this.#search.advance(reachedMs, this.#mostMessages, add, query.reads, query.sliceMs);
  }

  get messages(): number {
    return this.#search.found;
  }

  get records(): number {
    return this.#aggregation?.recordCount ?? 0;
  }

  /** Why the aggregation was given up, for people; undefined where it was not. */
  get failure(): string | undefined {
    return this.#aggregation?.failure;
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

/** Whoever parses may drop messages, too: these are not found. */
function filterOf({ filter, transform }: Query): Filter {
  const keepsRows = transform?.keepsRows;
  if (!keepsRows) return filter;
  const reads = new Set([...filter.reads, ...keepsRows.reads]);
  return { reads, matches: (row) => filter.matches(row) && keepsRows.matches(row) };
}

function receivedBy(latestMs: number, filter: Filter): Filter {
  if (latestMs === Number.POSITIVE_INFINITY) return filter;
  const reads = new Set([...filter.reads, '_receipttime']);
  return { reads, matches: (row) => row.receiptTimeMs <= latestMs && filter.matches(row) };
}
