/** A message as queries read it. `log-data/` stores or generates it. */

/** A field of a page or of records (section 2.4). */
export interface FieldDescriptor {
  readonly name: string;
  readonly fieldType: 'long' | 'int' | 'double' | 'string';
  /** True for a field by which records are grouped. Always false for fields of messages. */
  readonly keyField: boolean;
}

export interface Row {
  /** Value of `_messagetime`, in ms since the epoch. */
  readonly messageTimeMs: number;
  /** Value of `_receipttime`, in ms since the epoch. */
  readonly receiptTimeMs: number;
  /**
   * Returns the value of a parsed field or of a standard field (section 2.5 and `_raw`), or undefined. The case of the name does not
   * matter.
   */
  field(name: string): string | undefined;
  /** Parsed fields by the names that result pages show. `field` returns parsed fields as well. Absent if the row has none. */
  readonly parsed?: ReadonlyMap<string, string>;
}

/** Selects rows. The filter may be called once for many rows that are equal in all fields that it reads. */
export interface Filter {
  /** Lower-case names of all message fields that the filter reads. */
  readonly reads: ReadonlySet<string>;
  /** Approximate cost of a call, as a multiple of the comparison of two short values. Default: 1. */
  readonly cost?: number;
  matches(row: Row): boolean;
}

/** Operators of a query that change or drop rows. */
export interface Transform {
  /** Lower-case names of the stored message fields that the operators read. */
  readonly reads: ReadonlySet<string>;
  /** Approximate relative cost of `apply`. */
  readonly cost: number;
  /** Returns the row with its parsed fields (`Row.parsed`) and without hidden fields, or undefined for a dropped row. */
  apply(row: Row): Row | undefined;
  /** Filter that selects the same rows as `apply`, but may read fewer fields. Absent if no row is dropped. */
  readonly keepsRows?: Filter;
  /** Fields that are added to every row. The operator `json auto` adds further fields to some rows. */
  readonly adds: readonly FieldDescriptor[];
  /** Returns whether pages show a field, by its name in any case. Absent if all fields are shown. */
  readonly keeps?: (name: string) => boolean;
}
