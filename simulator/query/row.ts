/** A message as queries read it. */
import type { FieldValue } from './numeric.ts';

/** A field of a page or of records (section 2.4 of docs/service.md). */
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
   * Returns the value of a field that the query parsed, or of a standard field. `lowerName` is the field's name in
   * lower case.
   */
  field(lowerName: string): FieldValue | undefined;
  /** Values of the fields that the query parsed. The keys are the field names as result pages show them. */
  readonly parsed?: ReadonlyMap<string, string>;
}

/**
 * Selects messages. The result depends only on the fields in `reads`. If messages have equal values in these fields,
 * one call decides for all of them.
 */
export interface MessageFilter {
  /** Lower-case names of the fields that the filter reads. */
  readonly reads: ReadonlySet<string>;
  /** Estimated cost of one call of the filter. A comparison of two short values costs 1. Default: 1. */
  readonly cost?: number;
  matches(row: MessageRow): boolean;
}

/** Operators of a query that change or drop rows. */
export interface Transform {
  /** Lower-case names of the fields that the operators read from stored messages. */
  readonly reads: ReadonlySet<string>;
  readonly cost: number;
  /**
   * Applies the operators to a message. Returns the message as result pages show it, or undefined if an operator drops
   * it.
   */
  apply(row: MessageRow): MessageRow | undefined;
  /** Filter that selects the messages that `apply` keeps. Absent if `apply` keeps all messages. */
  readonly keepsRows?: MessageFilter;
  /** Fields that the operators add to every message. */
  readonly adds: readonly FieldDescriptor[];
  /** Returns whether result pages show a field. Absent if result pages show all fields. */
  readonly keeps?: (name: string) => boolean;
}
