/**
 * Regular expressions of `parse regex`, with RE2's syntax and the engine re2js, which takes linear time.
 *
 * Invariant: the search of an expression in a value takes at most about a second. Long expressions are refused, and only the
 * start of a long value is searched.
 */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import type { Cursor } from './cursor.ts';
import { abridged, type QueryError } from './query-error.ts';
import { expectQuoted } from './quoted.ts';

/** Maximum length of a regular expression in characters. Repetitions such as `{50}` could take very long to compile. */
const maxCharacters = 1_000;
const maxSteps = 1_000;
/** Maximum number of groups in a regular expression, because the engine stores the positions of all groups at every step. */
const maxGroups = 50;
/** Maximum product of searched characters and steps of the compiled expression, so that a search takes about a second. */
const maxTries = 5_000_000;

export interface NamedGroup {
  readonly name: string;
  /** Offset of the expression in the text of the query. */
  readonly offset: number;
}

export class RegularExpression {
  /** Named groups of the expression in the order of their start. */
  readonly groups: readonly NamedGroup[];
  readonly #program: RE2JS;
  /** Position of each named group among all groups of the regular expression. */
  readonly #indices: readonly number[];
  readonly #seenCharacters: number;

  private constructor(program: RE2JS, placeOfName: (name: string) => number) {
    const named = Object.entries(program.namedGroups()).toSorted(([, left], [, right]) => left - right);
    this.groups = named.map(([name]) => ({ name, offset: placeOfName(name) }));
    this.#indices = named.map(([, index]) => index);
    this.#program = program;
    this.#seenCharacters = Math.floor(maxTries / program.programSize());
  }

  static expect(cursor: Cursor): RegularExpression {
    const start = cursor.offset;
    const written = expectQuoted(cursor, 'a regular expression in quotes, as "user=(?<user>\\w+)"');
    const tooLong = (bound: string) => cursor.error(start, `this regular expression is too long: at most ${bound}`);
    if (written.length > maxCharacters) throw tooLong(`${maxCharacters} characters`);
    const placeOf = (part: string) => onlyPlaceOf(part, written, start + 1);
    const program = compile(written, (problem, part) => cursor.error(placeOf(part) ?? start, problem));
    if (program.programSize() > maxSteps) throw tooLong(`${maxSteps} steps with repetitions written out`);
    if (program.groupCount() > maxGroups) throw tooLong(`${maxGroups} groups`);
    return new RegularExpression(program, (name) => {
      const bracketAt = placeOf(`<${name}>`);
      return bracketAt === undefined ? start : bracketAt + 1;
    });
  }

  /**
   * Returns the values of `groups` in the first match, or undefined without a match. The value of a group that took no part in
   * the match is undefined.
   */
  match(text: string): readonly (string | undefined)[] | undefined {
    const found: readonly (string | undefined)[] | null = this.#program.exec(startOf(text, this.#seenCharacters));
    return found === null ? undefined : this.#indices.map((index) => found[index]);
  }
}

function compile(written: string, errorOf: (problem: string, part: string) => QueryError): RE2JS {
  try {
    return RE2JS.compile(written);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const part = error.getPattern() ?? '';
    throw errorOf(`${error.getDescription()}${part === '' ? '' : `: ${abridged(part)}`}`, part);
  }
}

/**
 * Returns where the query has the part of a regular expression that the engine reports as invalid. Undefined if this part occurs
 * more than once. `start` is the offset of the expression in the query.
 */
function onlyPlaceOf(part: string, whole: string, start: number): number | undefined {
  const at = whole.indexOf(part);
  return part !== '' && at >= 0 && at === whole.lastIndexOf(part) ? start + at : undefined;
}

/** Returns at most the first `length` UTF-16 units of a text. A character that would be cut in half is left out. */
function startOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const isWhole = (text.codePointAt(length - 1) as number) <= 0xffff;
  return text.slice(0, isWhole ? length : length - 1);
}
