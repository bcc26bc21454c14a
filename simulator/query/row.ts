/** A message as queries read it. `log-data/` stores or generates it. */
import type { FieldValue } from './numeric.ts';

/** A field of a page or of records (service.md 2.4). */
export interface FieldDescriptor {
  readonly name: string;
  readonly fieldType: 'long' | 'int' | 'double' | 'string';
  /** True for a grouping field of records. Always false for fields of messages. */
  readonly keyField: boolean;
}

export interface Row {
  /** Value of `_messagetime`, in ms since the epoch. */
  readonly messageTimeMs: number;
  /** Value of `_receipttime`, in ms since the epoch. */
  readonly receiptTimeMs: number;
  /**
   * Returns the value of a parsed field or of a standard field (service.md 2.5 and `_raw`), or undefined. The name must be in
   * lower case.
   */
  field(lowerName: string): FieldValue | undefined;
  /** Fields that the query has parsed from the message, by the names that result pages show. Absent if there are none. */
  readonly parsed?: ReadonlyMap<string, string>;
}

/** Selects rows. The filter may be called once for many rows that are equal in all fields that it reads. */
export interface Filter {
  /** Lower-case names of all message fields that the filter reads. */
  readonly reads: ReadonlySet<string>;
  /** Estimated computing time of a call, as a multiple of the time to compare two short values. Default: 1. */
  readonly cost?: number;
  matches(row: Row): boolean;
}

/** Operators of a query that change or drop rows. */
export interface Transform {
  /** Lower-case names of the stored message fields that the operators read. */
  readonly reads: ReadonlySet<string>;
  readonly cost: number;
  /** Returns the message with its parsed fields and without its hidden fields, or undefined if an operator drops the message. */
  apply(row: Row): Row | undefined;
  /** Selects the messages that `apply` does not drop, and may read fewer fields than `apply`. Absent if no message is dropped. */
  readonly keepsRows?: Filter;
  /** Fields that the operators add to every message. `json auto` can add further fields to some messages. */
  readonly adds: readonly FieldDescriptor[];
  /** Returns whether result pages show the field with this name, in any case. Absent if result pages show all fields. */
  readonly keeps?: (name: string) => boolean;
}
