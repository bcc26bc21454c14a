/** A stored message as queries read it. `log-data/` stores or generates it. */

/** A field of a page or of records (2.4). */
export interface FieldDescriptor {
  readonly name: string;
  readonly fieldType: 'long' | 'int' | 'double' | 'string';
  /** Whether it groups records. False for fields of messages. */
  readonly keyField: boolean;
}

export interface Row {
  /** Value of `_messagetime`, in ms since the epoch. */
  readonly messageTimeMs: number;
  /** Value of `_receipttime`, in ms since the epoch. */
  readonly receiptTimeMs: number;
  /**
   * Returns the value of a standard field (2.5, with `_raw`) or of a parsed field, or undefined. The case of the name does not matter.
   */
  field(name: string): string | undefined;
  /** Parsed fields by their names in pages. `field` returns them, too. Absent without parsed fields. */
  readonly parsed?: ReadonlyMap<string, string>;
}

/** Selects rows. A source may call it once for many rows that agree in all read fields. */
export interface Filter {
  /** Lower-case names of all fields that it reads. */
  readonly reads: ReadonlySet<string>;
  /** Approximate cost relative to a comparison of short values. Default: 1. */
  readonly cost?: number;
  matches(row: Row): boolean;
}

/** Operators on rows. */
export interface Transform {
  /** Lower-case names of stored fields. */
  readonly reads: ReadonlySet<string>;
  /** Approximate relative cost of `apply`. */
  readonly cost: number;
  /** Returns the row with parsed fields (`Row.parsed`) and without hidden fields, or undefined for a dropped row. */
  apply(row: Row): Row | undefined;
  /** Filter of the rows that `apply` does not drop. It may read less than `apply`. Absent if no row is dropped. */
  readonly keepsRows?: Filter;
  /** Fields that are always added. `json auto` adds more, depending on the row. */
  readonly adds: readonly FieldDescriptor[];
  /** Returns whether pages still show a field, by its name in any case. Absent if all are shown. */
  readonly keeps?: (name: string) => boolean;
}
