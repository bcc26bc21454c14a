/**
 * Limits the estimated memory of all aggregations together. An aggregation that exceeds the limit drops all its groups.
 * The records that were computed last are cached.
 */
import type { RecordTable } from './aggregation.ts';

/** Default memory limit in million bytes. It is enough for a hundred thousand groups with three values each. */
export const defaultMb = 20;

export class AggregationMemory {
  /** Memory limit in million bytes. A changed limit applies only to later calls of `take`. */
  maxMb: number;
  #bytes = 0;
  #table: { readonly owner: object; readonly table: RecordTable } | undefined;

  constructor(maxMb = defaultMb) {
    this.maxMb = maxMb;
  }

  /**
   * Reserves memory. Returns false if the limit is exceeded. The memory is reserved even then, so the caller must
   * always release it.
   */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.maxMb * 1e6;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  /**
   * Returns the records of the aggregation `owner` from the cache. If the cache does not contain them, calls `make` to
   * create them.
   */
  tableOf(owner: object, make: () => RecordTable): RecordTable {
    if (this.#table?.owner !== owner) this.#table = { owner, table: make() };
    return this.#table.table;
  }

  /** Removes the records of an aggregation from the cache. `owner` is the aggregation. */
  forgetTable(owner: object): void {
    if (this.#table?.owner === owner) this.#table = undefined;
  }
}

/** Maximum memory of a stored character in bytes. */
export const characterBytes = 2;

const minSlice = 13;

/**
 * Returns a copy of a text. The copy is needed to store a part of a message, because a substring would keep the whole
 * message in memory.
 */
export function detached(text: string): string {
  return text.length < minSlice ? text : (JSON.parse(JSON.stringify(text)) as string);
}
