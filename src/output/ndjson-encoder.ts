/**
 * NDJSON with each row as it came: its bytes and a line feed. Rows are never parsed here. A service that breaks lines between the members
 * of a row gets spaces there: what is no text in quotes may be any whitespace (RFC 8259), and inside of quotes no line is broken.
 *
 * To look for line breaks in each row takes as long as to copy it, and there are hardly ever any. So a chunk is looked through as a
 * whole, with nothing where lines end, and the line feeds are put there afterwards. The same holds for bytes that are no UTF-8, which
 * become U+FFFD: readers refuse a file with one such byte as a whole.
 */

import { char } from '../base/json-bytes.ts';
import type { ByteSpool } from './byte-spool.ts';
import { validText, withoutLineBreaks } from './json-text.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

export class NdjsonEncoder implements RowEncoder {
  readonly heldBytes = 0;
  readonly misfits = 0;
  readonly #spool: ByteSpool;
  /** From where on the spool's buffer is not looked through yet, and where lines end in it. */
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

  lines(lines: Uint8Array): void {
    this.#endLines();
    this.#spool.append(validText(lines));
    this.#from = this.#spool.at;
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
