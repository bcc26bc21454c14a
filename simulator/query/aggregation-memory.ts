/**
 * Limits the memory of all aggregations together. It counts the approximate bytes of groups and values, and caches the last
 * requested table of records.
 *
 * Invariant: the memory is bounded for any number of jobs. An aggregation that exceeds it decides how it gives up.
 */
import type { RecordTable } from './aggregation.ts';

/**
 * Default memory limit of all aggregations in million bytes, enough for a hundred thousand groups with one key and two
 * functions.
 */
export const defaultMb = 20;

export class AggregationMemory {
  /** Memory limit in million bytes, which applies to later requests. */
  maxMb: number;
  #bytes = 0;
  #table: { readonly owner: object; readonly table: RecordTable } | undefined;

  constructor(maxMb = defaultMb) {
    this.maxMb = maxMb;
  }

  /** Reserves bytes. Returns false if the maximum is exceeded. The caller must release the bytes in both cases. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.maxMb * 1e6;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  /**
   * Returns the result table of the aggregation `owner`, from the cache or computed by `make`. Only the last table is
   * cached.
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

/** Returns a copy of a text. A slice of a message would keep the whole message in memory. */
export function detached(text: string): string {
  return text.length < minSlice ? text : (JSON.parse(JSON.stringify(text)) as string);
}
