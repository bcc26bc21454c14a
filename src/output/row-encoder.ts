/** Encoder interface. An encoder converts rows into the bytes of one data file. */

/**
 * Row as sent by the service: a valid JSON object. The bytes are valid only during the call, because their memory is
 * reused.
 */
export interface RawRow {
  readonly bytes: Uint8Array;
}

/** Encodes the rows of one file. Call `end` once, after the last row. */
export interface RowEncoder {
  row(row: RawRow): void;
  /** Writes all remaining rows, and then the end of the file. */
  end(): void;
  /** Memory in bytes used by unwritten rows. Absent if the encoder writes each row immediately. */
  readonly heldBytes?: number;
  /** True if the file is full. Absent if the format has no limit of its own. */
  readonly isFull?: boolean;
  /** Number of values stored in the extra column because they do not match the type of their own column. */
  readonly misfits?: number;
}
