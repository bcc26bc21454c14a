/**
 * Interface of encoders, which convert rows to the bytes of a file. Each format has one implementation. An encoder writes its bytes into a
 * `ByteSpool`; `part-writer.ts` compresses and stores them.
 */

/** One message as received: the bytes of its JSON object, from `{` to `}`. The bytes may be used only during the call. They are valid JSON. */
export interface RawRow {
  readonly bytes: Uint8Array;
}

/** Encoder of one file. It accepts any number of rows, and then one call of `end`. */
export interface RowEncoder {
  row(row: RawRow): void;
  /** Writes the rows that are still in memory, and the end of the file. */
  end(): void;
  /** Memory in bytes of rows that are not written yet. Absent if the encoder writes each row immediately. */
  readonly heldBytes?: number;
  /** True if the file should end now, whatever its size. Absent if only the size limits a file. */
  readonly isFull?: boolean;
  /** Number of values that do not have the type of their column and are stored in the extra column. Absent if the format has no types. */
  readonly misfits?: number;
}
