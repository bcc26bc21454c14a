/**
 * Limits the estimated memory of all aggregations together, and caches the last result. An aggregation that exceeds the
 * limit drops all its groups.
 */
import type { RecordTable } from './aggregation.ts';

/** Default limit in million bytes, enough for a hundred thousand groups with three values each. */
export const defaultMb = 20;

export class AggregationMemory {
  /** Memory limit in million bytes. A change applies to later requests. */
  maxMb: number;
  #bytes = 0;
  #table: { readonly owner: object; readonly table: RecordTable } | undefined;

  constructor(maxMb = defaultMb) {
    this.maxMb = maxMb;
  }

  /** Reserves memory. Returns false if the limit is exceeded. The memory must be released even then. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.maxMb * 1e6;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** Returns the records of the aggregation `owner`, from the cache or from `make`. */
  tableOf(owner: object, make: () => RecordTable): RecordTable {
    if (this.#table?.owner !== owner) this.#table = { owner, table: make() };
    return this.#table.table;
  }

  /** Drops the cached records of the aggregation `owner`. */
  forgetTable(owner: object): void {
    if (this.#table?.owner === owner) this.#table = undefined;
  }
}

/** Maximum memory of a stored character in bytes. */
export const characterBytes = 2;

const minSlice = 13;

/** Returns a copy of a text. A substring would keep the whole message in memory. */
export function detached(text: string): string {
  return text.length < minSlice ? text : (JSON.parse(JSON.stringify(text)) as string);
}
