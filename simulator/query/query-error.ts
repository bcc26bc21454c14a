/** A syntax error in a query (`parse.error`), with its position. */
import { LogfleetError } from '../../src/base/errors.ts';

const maxShownCharacters = 20;

export class QueryError extends LogfleetError {
  override readonly name = 'QueryError';
  /** Offset of the error in the query, in UTF-16 code units. */
  readonly offset: number;

  /** Creates a syntax error. `problem` is a sentence without a full stop. */
  constructor(text: string, offset: number, problem: string) {
    super({
      code: 'query.invalid',
      message: `${placeOf(text, offset)}: ${problem}`,
      handling: { kind: 'stall' },
      reason: 'InvalidQuery',
    });
    this.offset = offset;
  }

  /** Creates the error for an unexpected token. `expected` is a noun phrase, for example `a field name`. */
  static expected(text: string, offset: number, expected: string): QueryError {
    return new QueryError(text, offset, `expected ${expected}, but found ${shownAt(text, offset)}`);
  }
}

/** Returns an offset as `line:column`, both counted from 1. */
function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return `${before.split('\n').length}:${offset - lineStart + 1}`;
}

/** Returns the text from the offset up to the next whitespace. */
function shownAt(text: string, offset: number): string {
  const rest = text.slice(offset);
  if (rest === '') return 'the end of the query';
  const [run = ''] = /^(?:\s+|\S+)/.exec(rest) ?? [];
  return JSON.stringify(abridged(run));
}

export function abridged(text: string): string {
  const characters = [...text];
  const shown = characters.slice(0, maxShownCharacters).join('');
  return characters.length > maxShownCharacters ? `${shown}…` : shown;
}
