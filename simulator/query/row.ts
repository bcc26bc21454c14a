/** A message as queries read it. */
import type { FieldValue } from './numeric.ts';

/** A field of a page or of records (section 2.4 of docs/service.md). */
export interface FieldDescriptor {
  readonly name: string;
  readonly fieldType: 'long' | 'int' | 'double' | 'string';
  /** True for a grouping field of records. */
  readonly keyField: boolean;
}

export interface Row {
  /** Value of `_messagetime`, in ms since the epoch. */
  readonly messageTimeMs: number;
  /** Value of `_receipttime`, in ms since the epoch. */
  readonly receiptTimeMs: number;
  /** Returns the value of a parsed or standard field. The name is in lower case. */
  field(lowerName: string): FieldValue | undefined;
  /** Fields that the query parsed, by the field names on result pages. */
  readonly parsed?: ReadonlyMap<string, string>;
}

/**
 * Selects messages. The result may depend only on the fields in `reads`, so one call can decide for all messages with
 * equal values in these fields.
 */
export interface Filter {
  /** Lower-case names of the fields that the filter reads. */
  readonly reads: ReadonlySet<string>;
  /** Estimated cost of one call of the filter. A comparison of two short values costs 1. Default: 1. */
  readonly cost?: number;
  matches(row: Row): boolean;
}

/** Operators of a query that change or drop rows. */
export interface Transform {
  /** Lower-case names of the fields that the operators read from stored messages. */
  readonly reads: ReadonlySet<string>;
  readonly cost: number;
  /** Returns the message as result pages show it, or undefined if an operator drops it. */
  apply(row: Row): Row | undefined;
  /** Filter for the messages that `apply` keeps. Absent if `apply` keeps all messages. */
  readonly keepsRows?: Filter;
  /** Fields that the operators add to every message. */
  readonly adds: readonly FieldDescriptor[];
  /** Returns whether result pages show the field. The function is absent if result pages show all fields. */
  readonly keeps?: (name: string) => boolean;
}
