/**
 * Reads the text of a query from left to right. A method that does not find what it looks for leaves the position unchanged, so
 * that another method can try. All methods except `match` skip blanks first.
 */
import { QueryError } from './query-error.ts';

/** Pattern of a name: letters, digits and `_`, joined by single dots and hyphens. */
const nameForm = /[\p{L}_][\p{L}\p{M}\p{N}_]*(?:[.-][\p{L}\p{M}\p{N}_]+)*/uy;
const wholeNumberForm = /\d+/y;
const blankForm = /\s*/y;

export class Cursor {
  readonly text: string;
  #offset = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Offset of the next token in the query. */
  get offset(): number {
    this.skipBlanks();
    return this.#offset;
  }

  /** Offset of the end of the last token in the query. */
  get end(): number {
    return this.#offset;
  }

  moveTo(offset: number): void {
    this.#offset = offset;
  }

  skipBlanks(): void {
    this.match(blankForm);
  }

  get atEnd(): boolean {
    return this.offset === this.text.length;
  }

  startsWith(symbol: string): boolean {
    return this.text.startsWith(symbol, this.offset);
  }

  /** Reads the text that a sticky regular expression matches at the cursor, without skipping blanks. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.#offset += found.length;
    return found;
  }

  take(symbol: string): boolean {
    if (!this.startsWith(symbol)) return false;
    this.#offset += symbol.length;
    return true;
  }

  takeKeyword(keyword: string): boolean {
    const start = this.offset;
    const end = start + keyword.length;
    if (this.text.slice(start, end).toLowerCase() !== keyword || !endsWord(this.text[end])) return false;
    this.#offset = end;
    return true;
  }

  /** Reads a name without quotes, for example of an operator or a field. */
  takeBareName(): string | undefined {
    this.skipBlanks();
    return this.match(nameForm);
  }

  /** Reads a whole number. Returns undefined if there are no digits, or if the number is beyond the safe integers. */
  takeWholeNumber(): number | undefined {
    const start = this.offset;
    const value = Number(this.match(wholeNumberForm) ?? Number.NaN);
    if (Number.isSafeInteger(value)) return value;
    this.#offset = start;
    return undefined;
  }

  expect(symbol: string, expected = `"${symbol}"`): void {
    if (!this.take(symbol)) throw this.expected(expected);
  }

  expectKeyword(keyword: string): void {
    if (!this.takeKeyword(keyword)) throw this.expected(`"${keyword}"`);
  }

  /** Returns the error for an unexpected token. `expected` is a noun with its article, as in `a field name`. */
  expected(expected: string, offset: number = this.offset): QueryError {
    return QueryError.expected(this.text, offset, expected);
  }

  error(offset: number, problem: string): QueryError {
    return new QueryError(this.text, offset, problem);
  }
}

/** Returns whether a keyword of a query can end before the character `next`. */
function endsWord(next: string | undefined): boolean {
  return next === undefined || /[\s()"|=<>,!]/.test(next);
}
