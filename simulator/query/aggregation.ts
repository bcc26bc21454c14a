/** Aggregations: queries that count or sum messages. */
import type { FieldDescriptor, Row } from './row.ts';

/** An aggregation, such as `count by host`, of the rows added so far. */
export interface Aggregation {
  /** Adds `times` rows that are equal in all fields that the query reads. */
  add(row: Row, times?: number): void;
  /** Error message if the aggregation exceeded its memory. It then has no records. */
  readonly failure: string | undefined;
  /** Number of records that `table` would return. */
  readonly recordCount: number;
  /** Returns the records, sorted and limited as the query requires. Missing values are `""`. */
  table(): RecordTable;
  /** Frees the memory of the aggregation. No other method may be called afterwards. */
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
