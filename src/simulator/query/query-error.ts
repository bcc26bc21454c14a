/** A query that cannot be parsed (7.2, `parse.error`): where in its text, what may stand there, and what does. */
import { LogfleetError } from '../../base/errors.ts';

const mostShownCharacters = 20;

export class QueryError extends LogfleetError {
  override readonly name = 'QueryError';
  /** The place in the text, in UTF-16 units from 0. */
  readonly offset: number;

  /** `problem` is a sentence without its place and without a stop. */
  constructor(text: string, offset: number, problem: string) {
    super({
      code: 'query.invalid',
      message: `${placeOf(text, offset)}: ${problem}`,
      handling: { kind: 'stall' },
      reason: 'InvalidQuery',
    });
    this.offset = offset;
  }

  /** `expected` with its article, as in `a field name`. */
  static expected(text: string, offset: number, expected: string): QueryError {
    return new QueryError(text, offset, `expected ${expected}, but found ${shownAt(text, offset)}`);
  }
}

/** `line:column`, both from 1, columns in UTF-16 units. */
function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return `${before.split('\n').length}:${offset - lineStart + 1}`;
}

/** What stands at the place, up to the next blank. */
function shownAt(text: string, offset: number): string {
  const rest = text.slice(offset);
  if (rest === '') return 'the end of the query';
  const [run = ''] = /^(?:\s+|\S+)/.exec(rest) ?? [];
  return JSON.stringify(abridged(run));
}

/** As much of a text as a message shows. */
export function abridged(text: string): string {
  const characters = [...text];
  const shown = characters.slice(0, mostShownCharacters).join('');
  return characters.length > mostShownCharacters ? `${shown}…` : shown;
}
