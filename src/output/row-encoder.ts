/**
 * Interface of encoders, which convert rows to the bytes of a file, with one implementation for each format. An encoder writes into
 * a spool. `part-writer.ts` compresses and stores the bytes.
 */

/**
 * One message as received: the bytes of its JSON object, from `{` to `}`. Valid only during the call. The JSON is already
 * validated.
 */
export interface RawRow {
  readonly bytes: Uint8Array;
}

/** Encoder of one file: any number of rows, then one `end`. */
export interface RowEncoder {
  row(row: RawRow): void;
  /** Writes rows that were held back, and the end of the file. */
  end(): void;
  /** Memory in bytes of rows that are held back. Absent if the encoder writes each row at once. */
  readonly heldBytes?: number;
  /** True if the file should end here whatever its size. Absent if only the size limits the file. */
  readonly isFull?: boolean;
  /** Number of values that do not have their column's type and are stored in the column for the rest. Absent in formats without types. */
  readonly misfits?: number;
}
