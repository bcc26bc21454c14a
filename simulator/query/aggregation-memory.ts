/**
 * The memory that the aggregations of all jobs share: the approximate bytes of groups and values, and the last requested table of
 * records.
 *
 * Invariant: the memory is bounded for any number of jobs. An aggregation that requests too much decides how it gives up.
 */
import type { RecordTable } from './aggregation.ts';

/** Default maximum in million bytes. It fits a hundred thousand groups with a key and one or two functions. */
export const usualMb = 20;

export class AggregationMemory {
  /** Maximum in million bytes for later requests. */
  maxMb: number;
  #bytes = 0;
  #table: { readonly owner: object; readonly table: RecordTable } | undefined;

  constructor(maxMb = usualMb) {
    this.maxMb = maxMb;
  }

  /** Reserves bytes, which the caller has to give back in any case. Returns false if the maximum is exceeded. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.maxMb * 1e6;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** Returns the table of `owner`, from the cache or made by `make`. The cache holds the last table. */
  tableOf(owner: object, make: () => RecordTable): RecordTable {
    if (this.#table?.owner !== owner) this.#table = { owner, table: make() };
    return this.#table.table;
  }

  /** Invalidates the cached table of `owner`. */
  forgetTable(owner: object): void {
    if (this.#table?.owner === owner) this.#table = undefined;
  }
}

/** Maximum memory of a stored character in bytes. */
export const characterBytes = 2;

const minSlice = 13;

/** Returns an independent copy of a text. A slice of a message would keep the whole message in memory. */
export function detached(text: string): string {
  return text.length < minSlice ? text : (JSON.parse(JSON.stringify(text)) as string);
}
