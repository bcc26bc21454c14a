/** Interface of the encoders, which convert rows to the bytes of a file. */

/** A row as received: a valid JSON object. The bytes may be used only during the call. */
export interface RawRow {
  readonly bytes: Uint8Array;
}

/** Encoder of one file. Accepts rows, then one call of `end`. */
export interface RowEncoder {
  row(row: RawRow): void;
  /** Writes all remaining rows and the end of the file. */
  end(): void;
  /** Memory in bytes that unwritten rows take. Absent if the encoder writes rows immediately. */
  readonly heldBytes?: number;
  /**
   * True if no more rows may be added to the file. Absent if the format sets no limit, so that only the size of the
   * file is limited.
   */
  readonly isFull?: boolean;
  /** Number of values that are stored in the extra column, because they do not have the type of their own column. */
  readonly misfits?: number;
}
