/**
 * NDJSON encoder that writes each row as received, with a line feed. Rows are not parsed. Line breaks between members are replaced
 * by spaces, since any whitespace is allowed between tokens (RFC 8259), and strings contain no line breaks.
 *
 * Searching each row for line breaks would take as long as copying it, and they are rare. So a whole chunk is searched before its
 * line feeds are inserted. The same applies to invalid UTF-8, which becomes U+FFFD, since readers would reject the whole file.
 */

import { char } from '../base/json-bytes.ts';
import type { ByteSpool } from './byte-spool.ts';
import { validText, withoutLineBreaks } from './json-text.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

export class NdjsonEncoder implements RowEncoder {
  readonly heldBytes = 0;
  readonly misfits = 0;
  readonly #spool: ByteSpool;
  /** Start of the part of the spool's buffer that was not searched yet, and the line ends in it. */
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
