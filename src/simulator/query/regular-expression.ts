/**
 * Regular expressions of `parse regex`: RE2's, as re2js runs them, in time linear in the text and in the steps of the expression.
 *
 * Invariant: no expression takes more than about a second for a value. One that is too long is refused where it is read, and of a
 * value only so much is looked at. What becomes of captures is left to the operator.
 */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import type { Cursor } from './cursor.ts';
import { abridged, type QueryError } from './query-error.ts';
import { expectQuoted } from './quoted.ts';

/** Bounds what it costs to compile: counts of repetitions are written out before steps can be counted. */
const mostCharacters = 1_000;
const mostSteps = 1_000;
/** Every step carries along where all groups begin and end. */
const mostGroups = 50;
/** Characters of a value times steps: about a second where each step is tried at each character. */
const mostTries = 5_000_000;

export interface NamedGroup {
  readonly name: string;
  /** In the text of the query. */
  readonly offset: number;
}

export class RegularExpression {
  /** In the order in which they begin. */
  readonly groups: readonly NamedGroup[];
  readonly #program: RE2JS;
  /** Indices of the groups among all, named or not. */
  readonly #indices: readonly number[];
  readonly #seenCharacters: number;

  private constructor(program: RE2JS, placeOfName: (name: string) => number) {
    const named = Object.entries(program.namedGroups()).toSorted(([, left], [, right]) => left - right);
    this.groups = named.map(([name]) => ({ name, offset: placeOfName(name) }));
    this.#indices = named.map(([, index]) => index);
    this.#program = program;
    this.#seenCharacters = Math.floor(mostTries / program.programSize());
  }

  /** Reads one between quotes. */
  static expect(cursor: Cursor): RegularExpression {
    const start = cursor.offset;
    const written = expectQuoted(cursor, 'a regular expression in quotes, as "user=(?<user>\\w+)"');
    const tooLong = (bound: string) => cursor.error(start, `this regular expression is too long: at most ${bound}`);
    if (written.length > mostCharacters) throw tooLong(`${mostCharacters} characters`);
    const placeOf = (part: string) => onlyPlaceOf(part, written, start + 1);
    const program = compile(written, (problem, part) => cursor.error(placeOf(part) ?? start, problem));
    if (program.programSize() > mostSteps) throw tooLong(`${mostSteps} steps with repetitions written out`);
    if (program.groupCount() > mostGroups) throw tooLong(`${mostGroups} groups`);
    return new RegularExpression(program, (name) => {
      const bracketAt = placeOf(`<${name}>`);
      return bracketAt === undefined ? start : bracketAt + 1;
    });
  }

  /** What the first match captures, one for each of `groups`: undefined for one that took no part. Undefined where nothing matches. */
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

/** The engine tells what is wrong and not where: that is known where the part stands only once. `start` is the offset of the whole. */
function onlyPlaceOf(part: string, whole: string, start: number): number | undefined {
  const at = whole.indexOf(part);
  return part !== '' && at >= 0 && at === whole.lastIndexOf(part) ? start + at : undefined;
}

/** So many UTF-16 units of a text, or one less rather than half a character. */
function startOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const isWhole = (text.codePointAt(length - 1) as number) <= 0xffff;
  return text.slice(0, isWhole ? length : length - 1);
}
