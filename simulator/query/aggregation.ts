/** Aggregations: queries that count or sum messages. */
import type { FieldDescriptor, MessageRow } from './row.ts';

/** An aggregation, such as `count by host`. Its result covers all rows added so far. */
export interface Aggregation {
  /** Adds a row that represents `times` rows with equal values in all fields that the query reads. */
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
   * Returns how many of `count` records remain after this operator. The method is absent if the result depends on the
   * values in the records.
   */
  countAfter?(count: number): number;
}
