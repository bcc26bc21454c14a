/** A stored message as queries read it. Where it is stored, and how it was made, is the affair of `log-data/`. */

/** A field of a page or of records (2.4). */
export interface FieldDescriptor {
  readonly name: string;
  readonly fieldType: 'long' | 'int' | 'double' | 'string';
  /** Whether records are grouped by it; false for fields of messages. */
  readonly keyField: boolean;
}

export interface Row {
  /** `_messagetime`, ms since the epoch. */
  readonly messageTimeMs: number;
  /** `_receipttime`, ms since the epoch. */
  readonly receiptTimeMs: number;
  /** The value of a field of 2.5 (`_raw` among them) or one that was parsed; undefined where the message has none. The case of the name does not count. */
  field(name: string): string | undefined;
  /** What a query parsed, by the name that pages show; `field` knows it too. Absent where nothing was. */
  readonly parsed?: ReadonlyMap<string, string>;
}

/** Whether a row is meant. A source that knows many rows to agree in all that is read asks once for all of them. */
export interface Filter {
  /** Fields that decide, in lower case; nothing else of a row does. */
  readonly reads: ReadonlySet<string>;
  /** About how dear it is to ask, in comparisons of short values; 1 where absent. */
  readonly cost?: number;
  matches(row: Row): boolean;
}
