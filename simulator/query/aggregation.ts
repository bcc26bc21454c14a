/** Results of a query that aggregates. */
import type { FieldDescriptor, Row } from './row.ts';

/** Results of the rows so far. Rows come from `transform`. */
export interface Aggregation {
  /** `times`: as many rows that agree in all that the query reads. */
  add(row: Row, times?: number): void;
  /** Why the aggregation exceeded its memory, as a text for people. From then on it has no records. Undefined otherwise. */
  readonly failure: string | undefined;
  /** Number of records of `table`, mostly without making it. */
  readonly recordCount: number;
  /** Returns the current records (2.6), sorted and limited. Missing values are `""`. */
  table(): RecordTable;
  /** Frees the memory. No other method may be called afterwards. */
  end(): void;
}

export interface RecordTable {
  readonly fields: readonly FieldDescriptor[];
  readonly records: readonly (readonly string[])[];
}

export interface RecordStep {
  run(table: RecordTable): RecordTable;
  /** Returns the number of records after the step. Absent if it depends on the records. */
  countAfter?(count: number): number;
}
