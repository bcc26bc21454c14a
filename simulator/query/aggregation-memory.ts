/**
 * Limits the memory of all aggregations together, and caches the result records that were requested last. The memory is
 * estimated from the number of groups and the lengths of values.
 *
 * Invariant: the memory is limited for any number of search jobs. An aggregation that exceeds the limit drops all its groups.
 */
import type { RecordTable } from './aggregation.ts';

/**
 * Default memory limit of all aggregations in million bytes, enough for a hundred thousand groups with one grouping field and two
 * aggregate functions.
 */
export const defaultMb = 20;

export class AggregationMemory {
  /** Memory limit in million bytes. A change applies to later requests. */
  maxMb: number;
  #bytes = 0;
  #table: { readonly owner: object; readonly table: RecordTable } | undefined;

  constructor(maxMb = defaultMb) {
    this.maxMb = maxMb;
  }

  /** Reserves memory. Returns false if the limit is exceeded; the memory must be released even then. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.maxMb * 1e6;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  /**
   * Returns the records of an aggregation, from the cache or computed by `make`. Only the records that were requested last are
   * cached. `owner` identifies the aggregation.
   */
  tableOf(owner: object, make: () => RecordTable): RecordTable {
    if (this.#table?.owner !== owner) this.#table = { owner, table: make() };
    return this.#table.table;
  }

  /** Drops the cached result table of the aggregation `owner`. */
  forgetTable(owner: object): void {
    if (this.#table?.owner === owner) this.#table = undefined;
  }
}

/** Maximum memory of a stored character in bytes. */
export const characterBytes = 2;

const minSlice = 13;

/** Returns a copy of a text, because a slice of a message would keep the whole message in memory. */
export function detached(text: string): string {
  return text.length < minSlice ? text : (JSON.parse(JSON.stringify(text)) as string);
}
