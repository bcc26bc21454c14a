/**
 * Reads a query from left to right. A method that finds no match leaves the position unchanged. All methods except
 * `match` first skip whitespace.
 */
import { QueryError } from './query-error.ts';

/** Syntax of a name: letters, digits and `_`, with single dots or hyphens allowed between these characters. */
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

  /** Offset, in the query, at which the most recently read token ends. */
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

  /**
   * Reads the text that the regular expression `pattern` matches at the current position, without skipping whitespace.
   * `pattern` must have the flag `y` (sticky). Returns undefined if there is no match.
   */
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

  /** Reads an unquoted operator or field name. */
  takeBareName(): string | undefined {
    this.skipBlanks();
    return this.match(nameForm);
  }

  /** Reads a whole number. Returns undefined if the next characters are not a safe integer. */
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

  /** Returns the error for an unexpected token. `expected` is a noun phrase, for example `a field name`. */
  expected(expected: string, offset: number = this.offset): QueryError {
    return QueryError.expected(this.text, offset, expected);
  }

  error(offset: number, problem: string): QueryError {
    return new QueryError(this.text, offset, problem);
  }
}

function endsWord(next: string | undefined): boolean {
  return next === undefined || /[\s()"|=<>,!]/.test(next);
}
