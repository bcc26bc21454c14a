/**
 * Limits the estimated total memory of all aggregations. An aggregation that exceeds the limit drops all its groups.
 * The records of the most recently read aggregation are cached.
 */
import type { RecordTable } from './aggregation.ts';

/** Default memory limit in MB. It is sufficient for a hundred thousand groups with three values each. */
export const defaultMb = 20;

export class AggregationMemory {
  /** Memory limit in MB. A change to the limit affects only later calls to `take`. */
  maxMb: number;
  #bytes = 0;
  #table: { readonly owner: object; readonly table: RecordTable } | undefined;

  constructor(maxMb = defaultMb) {
    this.maxMb = maxMb;
  }

  /**
   * Reserves memory. Returns false if the reserved memory then exceeds the limit. Even in this case, the caller must
   * release the memory.
   */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.maxMb * 1e6;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  /**
   * Returns the records of the aggregation `owner` from the cache. If they are not in the cache, calls `make` to create
   * them.
   */
  tableOf(owner: object, make: () => RecordTable): RecordTable {
    if (this.#table?.owner !== owner) this.#table = { owner, table: make() };
    return this.#table.table;
  }

  /** Removes the records of the aggregation `owner` from the cache. */
  forgetTable(owner: object): void {
    if (this.#table?.owner === owner) this.#table = undefined;
  }
}

/** Maximum memory per stored character, in bytes. */
export const characterBytes = 2;

const minSlice = 13;

/**
 * Returns a copy of a string. To store part of a message, a copy is needed, because a substring would keep the whole
 * message in memory.
 */
export function detached(text: string): string {
  return text.length < minSlice ? text : (JSON.parse(JSON.stringify(text)) as string);
}
