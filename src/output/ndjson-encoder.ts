/**
 * Writes each row as received, as NDJSON. Line breaks within a row become spaces, and invalid UTF-8 becomes U+FFFD. For
 * speed, many rows are searched for line breaks at once.
 */
import { char } from '../base/json-bytes.ts';
import type { ByteSpool } from './byte-spool.ts';
import { copyBytes, validText, withoutLineBreaks } from './json-text.ts';
import { RowColumns, valueKind } from './row-columns.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

export class NdjsonEncoder implements RowEncoder {
  readonly #spool: ByteSpool;
  /**
   * Start of the unfinished rows in the current chunk. In an unfinished row, line breaks have not been replaced with
   * spaces yet. `#lineEnds` contains the end of each unfinished row.
   */
  #from = 0;
  readonly #lineEnds: number[] = [];

  constructor(spool: ByteSpool) {
    this.#spool = spool;
  }

  row({ bytes }: RawRow): void {
    const spool = this.#spool;
    if (bytes.length < spool.buffer.length - spool.at) {
      spool.append(bytes);
      this.#lineEnds.push(spool.at);
      spool.appendByte(0);
      return;
    }
    this.#endLines();
    spool.append(validText(withoutLineBreaks(bytes)));
    spool.appendByte(char.lineFeed);
    this.#from = spool.at;
  }

  end(): void {
    this.#endLines();
  }

  #endLines(): void {
    const spool = this.#spool;
    const { buffer, at } = spool;
    const rows = buffer.subarray(this.#from, at);
    const inOneLine = withoutLineBreaks(rows);
    if (inOneLine !== rows) rows.set(inOneLine);
    for (const lineEnd of this.#lineEnds) buffer[lineEnd] = char.lineFeed;
    this.#lineEnds.length = 0;
    const valid = validText(rows);
    if (valid !== rows) {
      spool.at = this.#from;
      spool.append(valid);
    }
    this.#from = spool.at;
  }
}

/**
 * Writes only the selected fields, in the selected order, as NDJSON. Values are written as received, and missing fields
 * are omitted.
 */
export class NdjsonFieldsEncoder implements RowEncoder {
  readonly #spool: ByteSpool;
  readonly #row: RowColumns;
  /** Text before each value: comma, field name and colon. */
  readonly #heads: readonly Buffer[];
  readonly #headsBytes: number;

  constructor(spool: ByteSpool, names: readonly string[]) {
    this.#spool = spool;
    this.#row = new RowColumns(names);
    this.#heads = names.map((name) => Buffer.from(`,${JSON.stringify(name)}:`));
    this.#headsBytes = this.#heads.reduce((sum, { length }) => sum + length, 0);
  }

  row({ bytes: came }: RawRow): void {
    const row = this.#row;
    const bytes = validText(withoutLineBreaks(came));
    row.read(bytes);
    const spool = this.#spool;
    spool.reserve(bytes.length + this.#headsBytes + 3);
    const { buffer } = spool;
    const start = spool.at;
    let at = start;
    for (const [column, head] of this.#heads.entries()) {
      if (row.kinds[column] === valueKind.absent) continue;
      at = copyBytes(buffer, at, head, 0, head.length);
      at = copyBytes(buffer, at, row.bytes, row.starts[column] as number, row.ends[column] as number);
    }
    // The text of each field begins with a comma, so the opening brace replaces the first comma.
    if (at === start) at++;
    buffer[start] = char.objectStart;
    buffer[at++] = char.objectEnd;
    buffer[at++] = char.lineFeed;
    spool.at = at;
  }

  end(): void {}
}
