/** A message as seen by queries. */
import type { ScalarValue } from './numeric.ts';

/** Describes a field of the messages or records on a result page (section 2.4 of docs/service.md). */
export interface FieldDescriptor {
  readonly name: string;
  readonly fieldType: 'long' | 'int' | 'double' | 'string';
  /** True for a grouping field of records. */
  readonly keyField: boolean;
}

export interface MessageRow {
  /** Value of `_messagetime`, in ms since the epoch. */
  readonly messageTimeMs: number;
  /** Value of `_receipttime`, in ms since the epoch. */
  readonly receiptTimeMs: number;
  /**
   * Returns the value of a field parsed by the query, or of a standard field. `lowerName` is the field's name in lower
   * case.
   */
  field(lowerName: string): ScalarValue | undefined;
  /** Values of the fields parsed by the query, keyed by field name as shown on result pages. */
  readonly parsed?: ReadonlyMap<string, string>;
}

/**
 * Selects messages. The result depends only on the fields in `reads`, so it is the same for all messages with equal
 * values in these fields.
 */
export interface MessageFilter {
  /** Lower-case names of the fields read by the filter. */
  readonly reads: ReadonlySet<string>;
  /** Estimated cost of one call to the filter. The unit is the cost of comparing two short values. Default: 1. */
  readonly cost?: number;
  matches(row: MessageRow): boolean;
}

/** Query operators that change or drop rows. */
export interface Transform {
  /** Lower-case names of the fields that the operators read from stored messages. */
  readonly reads: ReadonlySet<string>;
  readonly cost: number;
  /**
   * Applies the operators to a message. Returns the message as shown on result pages, or undefined if an operator drops
   * it.
   */
  apply(row: MessageRow): MessageRow | undefined;
  /** Selects the messages that `apply` does not drop. Absent if `apply` drops no messages. */
  readonly keepsRows?: MessageFilter;
  /** Fields that the operators add to every message. */
  readonly adds: readonly FieldDescriptor[];
  /** Reports whether result pages show a field. Absent if they show all fields. */
  readonly keeps?: (name: string) => boolean;
}
