/**
 * CSV (RFC 4180): a header, one line a row, lines that end with CR LF, UTF-8 without a byte order mark. A cell holds what the value says:
 * strings without their escapes, numbers and truth values as they came, objects and arrays as JSON. What is `null`, absent or `""` is
 * empty. Members without a column stand as one JSON object in the last one, unless fields were chosen.
 *
 * What is no UTF-8 in a row becomes U+FFFD, since readers refuse the whole file otherwise.
 */

import { char } from '../base/json-bytes.ts';
import type { ByteSpool } from './byte-spool.ts';
import type { ColumnSet } from './columns.ts';
import { isFormula } from './formula.ts';
import { copyBytes, validText, writeText } from './json-text.ts';
import { restBytes, writeRest } from './rest.ts';
import { RowColumns, valueKind } from './row-columns.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

export interface CsvOptions {
  /** Puts `'` in front of cells that a spreadsheet would take for a formula. */
  readonly formulaGuard: boolean;
}

export class CsvEncoder implements RowEncoder {
  readonly heldBytes = 0;
  readonly misfits = 0;
  readonly #spool: ByteSpool;
  readonly #row: RowColumns;
  readonly #names: readonly string[];
  readonly #hasRest: boolean;
  readonly #guards: boolean;
  #hasHeader = false;
  /** For the text of one cell. */
  #text: Buffer = Buffer.allocUnsafeSlow(4096);

  constructor(spool: ByteSpool, { columns, restName, keepsOthers }: ColumnSet, { formulaGuard }: CsvOptions) {
    const names = columns.map(({ name }) => name);
    this.#spool = spool;
    this.#row = new RowColumns(names);
    this.#names = keepsOthers ? [...names, restName] : names;
    this.#hasRest = keepsOthers;
    this.#guards = formulaGuard;
  }

  row({ bytes: came }: RawRow): void {
    this.#writeHeader();
    const bytes = validText(came);
    const row = this.#row;
    row.read(bytes);
    const columns = row.kinds.length;
    // A byte becomes two at most; a cell has quotes, a guard and a comma beside it.
    this.#reserve(bytes.length, columns + 1);
    const start = this.#spool.at;
    let at = start;
    for (let column = 0; column < columns; column++) {
      at = this.#writeValue(at, column);
      this.#spool.buffer[at++] = char.comma;
    }
    if (this.#hasRest) at = this.#writeCell(at, this.#text, 0, writeRest(this.#text, row.bytes, row.others));
    else at--;
    this.#endLine(start, at);
  }

  end(): void {
    this.#writeHeader();
  }

  #writeHeader(): void {
    if (this.#hasHeader) return;
    this.#hasHeader = true;
    const names = this.#names.map((name) => Buffer.from(name));
    this.#reserve(
      names.reduce((sum, { length }) => sum + length, 0),
      names.length,
    );
    const start = this.#spool.at;
    let at = start;
    for (const name of names) {
      at = this.#writeCell(at, name, 0, name.length);
      this.#spool.buffer[at++] = char.comma;
    }
    this.#endLine(start, at - 1);
  }

  #reserve(textBytes: number, cells: number): void {
    this.#spool.reserve(2 * (textBytes + restBytes) + 4 * cells + 2);
    if (this.#text.length < textBytes + restBytes) this.#text = Buffer.allocUnsafeSlow(2 * (textBytes + restBytes));
  }

  /** A line with a single cell that is empty would be no line, but for its quotes. */
  #endLine(start: number, end: number): void {
    const { buffer } = this.#spool;
    let at = end;
    if (at === start && this.#names.length === 1) {
      buffer[at++] = char.quote;
      buffer[at++] = char.quote;
    }
    buffer[at++] = char.carriageReturn;
    buffer[at++] = char.lineFeed;
    this.#spool.at = at;
  }

  #writeValue(at: number, column: number): number {
    const row = this.#row;
    const start = row.starts[column] as number;
    const end = row.ends[column] as number;
    switch (row.kinds[column]) {
      case valueKind.absent:
      case valueKind.null:
        return at;
      case valueKind.escaped:
        return this.#writeCell(at, this.#text, 0, writeText(this.#text, 0, row.bytes, row.view, start + 1, end - 1));
      case valueKind.plain:
        return this.#writePlain(at, start + 1, end - 1);
      case valueKind.nested:
        return this.#writeCell(at, row.bytes, start, end);
      default:
        return copyBytes(this.#spool.buffer, at, row.bytes, start, end);
    }
  }

  /** Text of a string without escapes, in which no quote and no line break can be. */
  #writePlain(at: number, start: number, end: number): number {
    const { buffer } = this.#spool;
    const { bytes } = this.#row;
    const isQuoted = hasComma(bytes, start, end);
    let next = at;
    if (isQuoted) buffer[next++] = char.quote;
    if (this.#guards && isFormula(bytes, start, end)) buffer[next++] = char.apostrophe;
    next = copyBytes(buffer, next, bytes, start, end);
    if (isQuoted) buffer[next++] = char.quote;
    return next;
  }

  /** Any text. */
  #writeCell(at: number, text: Buffer, start: number, end: number): number {
    const { buffer } = this.#spool;
    const isQuoted = needsQuotes(text.subarray(start, end));
    let next = at;
    if (isQuoted) buffer[next++] = char.quote;
    if (this.#guards && isFormula(text, start, end)) buffer[next++] = char.apostrophe;
    if (!isQuoted) return copyBytes(buffer, next, text, start, end);
    for (let from = start; from < end; ) {
      const quote = text.indexOf(char.quote, from);
      const to = quote < 0 || quote >= end ? end : quote + 1;
      next = copyBytes(buffer, next, text, from, to);
      if (to - 1 === quote) buffer[next++] = char.quote;
      from = to;
    }
    buffer[next++] = char.quote;
    return next;
  }
}

function needsQuotes(text: Buffer): boolean {
  return (
    text.indexOf(char.comma) >= 0 ||
    text.indexOf(char.quote) >= 0 ||
    text.indexOf(char.lineFeed) >= 0 ||
    text.indexOf(char.carriageReturn) >= 0
  );
}

/** A call of `indexOf` takes as long as so many bytes. */
const mostSearchedByHand = 32;

function hasComma(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > mostSearchedByHand) {
    // Commas stand between members, so that there is one soon.
    const comma = bytes.indexOf(char.comma, start);
    return comma >= 0 && comma < end;
  }
  for (let at = start; at < end; at++) if (bytes[at] === char.comma) return true;
  return false;
}
