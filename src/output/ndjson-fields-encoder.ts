/**
 * NDJSON encoder that writes the chosen fields of each row: their values byte for byte, with the chosen names, in the chosen order.
 * Missing fields are omitted, and `null` and `""` are kept. Invalid UTF-8 becomes U+FFFD.
 */

import { char } from '../base/json-bytes.ts';
import type { ByteSpool } from './byte-spool.ts';
import { copyBytes, validText, withoutLineBreaks } from './json-text.ts';
import { RowColumns, valueKind } from './row-columns.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

export class NdjsonFieldsEncoder implements RowEncoder {
  readonly heldBytes = 0;
  readonly misfits = 0;
  readonly #spool: ByteSpool;
  readonly #row: RowColumns;
  /** For each column: a comma, its name and a colon. */
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
    // The opening brace replaces the first comma.
    if (at === start) at++;
    buffer[start] = char.objectStart;
    buffer[at++] = char.objectEnd;
    buffer[at++] = char.lineFeed;
    spool.at = at;
  }

  end(): void {}
}
