/**
 * A place in the text of a query that moves on as the parsers read. What cannot be read moves nothing, so that the next parser may try.
 *
 * Blanks before what is read are skipped, except by `match`.
 */
import { QueryError } from './query-error.ts';

/** Letters, digits and `_`, joined by single dots and hyphens. */
const nameForm = /[\p{L}_][\p{L}\p{M}\p{N}_]*(?:[.-][\p{L}\p{M}\p{N}_]+)*/uy;
const wholeNumberForm = /\d+/y;
const blankForm = /\s*/y;

export class Cursor {
  readonly text: string;
  #offset = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Where the next thing begins. */
  get offset(): number {
    this.skipBlanks();
    return this.#offset;
  }

  /** Where the last thing ended. */
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

  /** What the sticky pattern matches right here, blanks not skipped. */
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

  /** A word of the language, in any case of letters. */
  takeKeyword(keyword: string): boolean {
    const start = this.offset;
    const end = start + keyword.length;
    if (this.text.slice(start, end).toLowerCase() !== keyword || !endsWord(this.text[end])) return false;
    this.#offset = end;
    return true;
  }

  /** A bare name, as operators and most fields have. */
  takeBareName(): string | undefined {
    this.skipBlanks();
    return this.match(nameForm);
  }

  /** Digits alone; undefined also where they are too many to count with. */
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

  /** The error of something else standing here; `expected` with its article. */
  expected(expected: string, offset: number = this.offset): QueryError {
    return QueryError.expected(this.text, offset, expected);
  }

  error(offset: number, problem: string): QueryError {
    return new QueryError(this.text, offset, problem);
  }
}

/** Whether a keyword can end before this character. */
function endsWord(next: string | undefined): boolean {
  return next === undefined || /[\s()"|=<>,!]/.test(next);
}
