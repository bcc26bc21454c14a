/**
 * What the aggregations of all jobs keep together: their groups and values, counted in bytes that are near enough to what they take,
 * and the table of records that was asked for last.
 *
 * Invariant: it is bounded, whatever the number of jobs. Which aggregation is given up is for whoever asks for more than there is.
 */
import type { RecordTable } from './query.ts';

/** In millions of bytes: a hundred thousand groups with a key and a function or two. */
export const usualMb = 20;

export class AggregationMemory {
  /** For what is taken from now on. */
  mostMb: number;
  #bytes = 0;
  #table: { readonly owner: object; readonly table: RecordTable } | undefined;

  constructor(mostMb = usualMb) {
    this.mostMb = mostMb;
  }

  /** Counts them in any case, to be given back; false where that is more than there is. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.mostMb * 1e6;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** What `make` makes, unless that is the last table that was asked for. */
  tableOf(owner: object, make: () => RecordTable): RecordTable {
    if (this.#table?.owner !== owner) this.#table = { owner, table: make() };
    return this.#table.table;
  }

  /** Its table is another one from now on. */
  forgetTable(owner: object): void {
    if (this.#table?.owner === owner) this.#table = undefined;
  }
}

/** Of what is kept, at most. */
export const characterBytes = 2;

const leastSlice = 13;

/** The same text, which holds on to no other: a part of a message is a slice to the engine, and keeps the whole message. */
export function detached(text: string): string {
  return text.length < leastSlice ? text : (JSON.parse(JSON.stringify(text)) as string);
}
