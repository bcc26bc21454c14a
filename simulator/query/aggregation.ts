/** Aggregations: queries that count or sum messages. */
import type { FieldDescriptor, MessageRow } from './row.ts';

/** An aggregation, such as `count by host`. Its result covers all rows added so far. */
export interface Aggregation {
  /**
   * Adds `times` rows at once. `row` is one of them, and all of them have equal values in the fields that the query
   * reads.
   */
  add(row: MessageRow, times?: number): void;
  /** Error message if the aggregation exceeded its memory limit. In that case, the aggregation has no records. */
  readonly failure: string | undefined;
  /** Number of records that `table` would return. */
  readonly recordCount: number;
  /** Returns the records, sorted and limited as the query requires. A missing value is an empty string. */
  table(): RecordTable;
  /** Frees the aggregation's memory. No other method may be called afterwards. */
  end(): void;
}

export interface RecordTable {
  readonly fields: readonly FieldDescriptor[];
  readonly records: readonly (readonly string[])[];
}

export interface RecordStep {
  run(table: RecordTable): RecordTable;
  /**
   * Returns the number of records that remain if this operator is applied to `count` records. The method is absent if
   * this number depends on the values in the records.
   */
  countAfter?(count: number): number;
}
