/** Results of a query that aggregates. */
import type { FieldDescriptor, Row } from './row.ts';

/** An aggregation in progress, over the rows that were added so far. The query's `transform` makes the rows from messages. */
export interface Aggregation {
  /** Adds a row. `times` is the number of rows that are equal in everything that the query reads. */
  add(row: Row, times?: number): void;
  /**
   * Explanation for people that the aggregation has exceeded its memory and returns no records any more. Undefined before that.
   */
  readonly failure: string | undefined;
  /** Number of records that `table` would return. Usually it is computed without creating the records. */
  readonly recordCount: number;
  /** Returns the current records (section 2.6), sorted and limited. Missing values are `""`. */
  table(): RecordTable;
  /** Frees the memory of the aggregation. No method may be called afterwards. */
  end(): void;
}

export interface RecordTable {
  readonly fields: readonly FieldDescriptor[];
  readonly records: readonly (readonly string[])[];
}

export interface RecordStep {
  run(table: RecordTable): RecordTable;
  /** Returns how many records are left after this operator. Absent if the number depends on the content of the records. */
  countAfter?(count: number): number;
}
