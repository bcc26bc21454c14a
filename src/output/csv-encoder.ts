/**
 * Writes CSV (RFC 4180) with a header, CR LF line ends and UTF-8.
 *
 * Strings are written without JSON escapes, and objects and arrays as JSON. Missing values become empty cells. Invalid
 * UTF-8 becomes U+FFFD.
 */
import { char, marked } from '../base/json-bytes.ts';
import type { ByteSpool } from './byte-spool.ts';
import type { ColumnSet } from './columns.ts';
import { copyBytes, validText, writeText } from './json-text.ts';
import { RowColumns, restBytes, valueKind, writeRest } from './row-columns.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

export interface CsvOptions {
  /** True to write `'` before cells that a spreadsheet would evaluate as formulas. */
  readonly formulaGuard: boolean;
}

export class CsvEncoder implements RowEncoder {
  readonly #spool: ByteSpool;
  readonly #row: RowColumns;
  readonly #names: readonly string[];
  readonly #hasRest: boolean;
  readonly #guards: boolean;
  #hasHeader = false;
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
    // Reserves space for the longest possible line. Each quote is written twice, so the line is longest if the row
    // contains only quotes.
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

  /** Ends a line. If the line consists of a single empty cell, writes `""`, because CSV readers ignore empty lines. */
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
        return this.#writeCell(at, row.bytes, start + 1, end - 1);
      case valueKind.nested:
        return this.#writeCell(at, row.bytes, start, end);
      default:
        return copyBytes(this.#spool.buffer, at, row.bytes, start, end);
    }
  }

  /** Writes a string as a cell, quoted if necessary. */
  #writeCell(at: number, text: Buffer, start: number, end: number): number {
    const { buffer } = this.#spool;
    const isQuoted = needsQuotes(text, start, end);
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

/** A cell that contains one of these characters needs quotes. */
const separators = [char.comma, char.quote, char.lineFeed, char.carriageReturn];
const isSeparator = marked(',"\n\r');
/**
 * Maximum length in bytes of a string that is searched for separators with a loop. For longer strings, `indexOf` is
 * faster.
 */
const maxSearchedByLoop = 32;

function needsQuotes(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > maxSearchedByLoop) {
    const text = bytes.subarray(start, end);
    return separators.some((separator) => text.indexOf(separator) >= 0);
  }
  for (let at = start; at < end; at++) if (isSeparator[bytes[at] as number] === 1) return true;
  return false;
}

/**
 * Reports whether a spreadsheet would evaluate a cell as a formula (OWASP, "CSV Injection"). Signed numbers do not
 * count as formulas, because many ids are negative.
 */
function isFormula(bytes: Buffer, start: number, end: number): boolean {
  if (start === end || isSuspicious[bytes[start] as number] === 0) return false;
  // Checks for negative integers first, because they are common and this fast check creates no string.
  if (bytes[start] === char.minus && end > start + 1 && areDigits(bytes, start + 1, end)) return false;
  const text = bytes.toString('utf8', start, end);
  return formulaStart.test(text) && !signedNumber.test(text);
}

function areDigits(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte < char.zero || byte > char.nine) return false;
  }
  return true;
}

const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/;
const signedNumber = /^[+-]\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/**
 * Table with an entry for each byte value: 1 if the byte can begin a formula. The byte 0xef is the first byte of
 * full-width signs in UTF-8.
 */
const isSuspicious = marked('=+-@\t\r\n\xef');
