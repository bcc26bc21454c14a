/**
 * NDJSON encoder that writes each row as received, without parsing it. Line breaks inside a row become spaces, which does not change its
 * JSON (RFC 8259). Invalid UTF-8 becomes U+FFFD, because readers would reject the whole file.
 *
 * The encoder searches many rows at once for line breaks. Searching each row by itself would take as long as copying the row.
 */
import { char } from '../base/json-bytes.ts';
import type { ByteSpool } from './byte-spool.ts';
import { copyBytes, validText, withoutLineBreaks } from './json-text.ts';
import { RowColumns, valueKind } from './row-columns.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

export class NdjsonEncoder implements RowEncoder {
  readonly #spool: ByteSpool;
  /** Start of the rows that have not been searched for line breaks yet. `#lineEnds` contains the ends of these rows. */
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
 * NDJSON encoder that writes only the chosen fields of each row, with the chosen names and in the chosen order. Values are written as
 * received. Missing fields are omitted, but `null` and `""` are kept. Invalid UTF-8 becomes U+FFFD.
 */
export class NdjsonFieldsEncoder implements RowEncoder {
  readonly #spool: ByteSpool;
  readonly #row: RowColumns;
  /** Text before the value of each column: a comma, the column's name and a colon. */
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
    // Replaces the comma before the first value by the opening brace of the row.
    if (at === start) at++;
    buffer[start] = char.objectStart;
    buffer[at++] = char.objectEnd;
    buffer[at++] = char.lineFeed;
    spool.at = at;
  }

  end(): void {}
}
