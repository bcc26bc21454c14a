/**
 * Regular expressions for `parse regex`, in RE2 syntax.
 *
 * To limit the time of a search to about a second, long expressions are refused, and only the start of a long value is
 * searched.
 */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import type { Cursor } from './cursor.ts';
import { abridged, type QueryError } from './query-error.ts';
import { expectQuoted } from './quoted.ts';

/**
 * Maximum length of a regular expression in characters. It is limited because repetitions such as `{50}` are slow to
 * compile.
 */
const maxCharacters = 1_000;
const maxSteps = 1_000;
/**
 * Maximum number of groups in a regular expression. It is limited because the engine stores all groups at every step.
 */
const maxGroups = 50;
/**
 * Maximum product of the number of characters searched and the number of steps in the compiled expression. It limits
 * the time of a search to about a second.
 */
const maxTries = 5_000_000;

export interface NamedGroup {
  readonly name: string;
  readonly offset: number;
}

export class RegularExpression {
  /** Named groups of the regular expression, in the order of their opening parentheses. */
  readonly groups: readonly NamedGroup[];
  readonly #program: RE2JS;
  /** Number of each named group. Unnamed groups are counted, too. */
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
    const written = expectQuoted(cursor, 'a quoted regular expression, such as "user=(?<user>\\w+)"');
    const tooLong = (bound: string) =>
      cursor.error(start, `this regular expression is too long: it can have at most ${bound}`);
    if (written.length > maxCharacters) throw tooLong(`${maxCharacters} characters`);
    const placeOf = (part: string) => onlyPlaceOf(part, written, start + 1);
    const program = compile(written, (problem, part) => cursor.error(placeOf(part) ?? start, problem));
    if (program.programSize() > maxSteps) throw tooLong(`${maxSteps} steps, counting each repetition`);
    if (program.groupCount() > maxGroups) throw tooLong(`${maxGroups} groups`);
    return new RegularExpression(program, (name) => {
      const bracketAt = placeOf(`<${name}>`);
      return bracketAt === undefined ? start : bracketAt + 1;
    });
  }

  /**
   * Returns the text that each of the `groups` captured in the first match. For a group that captured nothing, the text
   * is undefined. Returns undefined if the expression does not match.
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
 * Returns the position of `part` in the query. `part` is the invalid part of a regular expression. Returns undefined if
 * the expression contains `part` more than once, because the position would be ambiguous.
 */
function onlyPlaceOf(part: string, whole: string, start: number): number | undefined {
  const at = whole.indexOf(part);
  return part !== '' && at >= 0 && at === whole.lastIndexOf(part) ? start + at : undefined;
}

/** Returns the start of a text, with at most `length` UTF-16 code units. Never splits a surrogate pair. */
function startOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const isWhole = (text.codePointAt(length - 1) as number) <= 0xffff;
  return text.slice(0, isWhole ? length : length - 1);
}
