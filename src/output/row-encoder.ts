/**
 * Interface of encoders, which convert rows to the bytes of a file. Each format has one implementation. An encoder writes its bytes into a
 * `ByteSpool`; `part-writer.ts` compresses and stores them.
 */

/** One message as received: the bytes of a valid JSON object, from `{` to `}`. The bytes may be used only during the call. */
export interface RawRow {
  readonly bytes: Uint8Array;
}

/** Encoder of one file. It accepts any number of rows, and then one call of `end`. */
export interface RowEncoder {
  row(row: RawRow): void;
  /** Writes all rows that are still in memory, and then the end of the file. */
  end(): void;
  /** Memory in bytes of rows that are not written yet. Absent if the encoder writes each row immediately. */
  readonly heldBytes?: number;
  /** True if the file should end before it reaches its maximum size. Absent if only the size limits the file. */
  readonly isFull?: boolean;
  /** Number of values that do not have the type of their column and are stored in the extra column. Absent if the format has no types. */
  readonly misfits?: number;
}
