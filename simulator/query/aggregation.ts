/** Results of a query that aggregates. */
import type { FieldDescriptor, Row } from './row.ts';

/** An aggregation in progress, over the rows added so far. The query's `transform` makes the rows. */
export interface Aggregation {
  /** Adds a row. `times` is the number of rows that are equal in everything that the query reads. */
  add(row: Row, times?: number): void;
  /**
   * Explanation for people when the aggregation has exceeded its memory. From then on, it returns no records. Undefined
   * otherwise.
   */
  readonly failure: string | undefined;
  /** Number of records that `table` would return. Usually computed without creating the records. */
  readonly recordCount: number;
  /** Returns the current records (2.6), sorted and limited. Missing values are `""`. */
  table(): RecordTable;
  /** Frees the memory. No method may be called afterwards. */
  end(): void;
}

export interface RecordTable {
  readonly fields: readonly FieldDescriptor[];
  readonly records: readonly (readonly string[])[];
}

export interface RecordStep {
  run(table: RecordTable): RecordTable;
  /** Returns the number of records after this operator. Absent if the number depends on the records. */
  countAfter?(count: number): number;
}
