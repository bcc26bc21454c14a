/** Interface of aggregations: queries that count or sum messages. */
import type { FieldDescriptor, Row } from './row.ts';

/** An aggregation of a query, such as `count by host`, over the rows that were added so far. */
export interface Aggregation {
  /** Adds `times` rows that are equal in all fields that the query reads. */
  add(row: Row, times?: number): void;
  /** Error message if the aggregation has exceeded its memory, after which it has no records. Undefined before that. */
  readonly failure: string | undefined;
  /** Number of records that `table` would return. Usually it is computed without creating the records. */
  readonly recordCount: number;
  /**
   * Returns the records for the rows that were added so far (service.md 2.6), sorted and limited as the query requires. Missing
   * values are `""`.
   */
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
  /** Returns the number of records after this query operator. Absent if the number depends on the content of the records. */
  countAfter?(count: number): number;
}
