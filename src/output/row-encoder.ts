/**
 * What turns rows into the bytes of a file, one implementation a format. An encoder writes into a spool; what becomes of the bytes
 * there, compression and the file itself, is left to `part-writer.ts`.
 */

/** One message as it came: the bytes of its JSON object, from `{` to `}`, valid during the call only. They are JSON that was checked. */
export interface RawRow {
  readonly bytes: Uint8Array;
}

/** Rows as they came, one behind the other; valid during the call only. */
export interface RawRows {
  bytes(index: number): Uint8Array;
  /** How long the lines of these are. */
  linesLength(from: number, to: number): number;
  /** From one to before the other, each with a line feed behind it and none in it. Good until it is called again. */
  lines(from: number, to: number): Uint8Array;
}

/** For one file: rows in any number, then `end` once. */
export interface RowEncoder {
  row(row: RawRow): void;
  /** Rows that are written as they came, as lines; absent where each has to be looked at. */
  lines?(lines: Uint8Array): void;
  /** Writes what was held back, and what the file ends with. */
  end(): void;
  /** Bytes of memory for rows that are still held back. */
  readonly heldBytes: number;
  /** Whether the file should end here, however long it is; absent where its length alone bounds it. */
  readonly isFull?: boolean;
  /** Values that were not what their column holds, and stand in the column for the rest as they came. */
  readonly misfits: number;
}
