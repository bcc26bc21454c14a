/**
 * NDJSON with each row as it came: its bytes and a line feed. Rows are never parsed here. A service that breaks lines between the members
 * of a row gets spaces there: what is no text in quotes may be any whitespace (RFC 8259), and inside of quotes no line is broken.
 */
import type { ByteSpool } from './byte-spool.ts';
import { char, withoutLineBreaks } from './json-text.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

export class NdjsonEncoder implements RowEncoder {
  readonly heldBytes = 0;
  readonly misfits = 0;
  readonly #spool: ByteSpool;

  constructor(spool: ByteSpool) {
    this.#spool = spool;
  }

  row({ bytes }: RawRow): void {
    this.#spool.append(withoutLineBreaks(bytes));
    this.#spool.appendByte(char.lineFeed);
  }

  end(): void {}
}
