/**
 * Regular expressions of `parse regex`, read into a tree. What `program.ts` cannot run in linear time, or would run otherwise than
 * JavaScript does, is refused with its place.
 *
 * Single characters and classes are given to JavaScript's own engine, one character at a time, which no pattern can make slow.
 */
import type { Cursor } from '../cursor.ts';
import { type CharacterTest, characterTest } from './character-test.ts';

export type Pattern =
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'edge'; readonly edge: Edge }
  | { readonly kind: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly options: readonly Pattern[] }
  /** `index` counts from 0. */
  | { readonly kind: 'capture'; readonly index: number; readonly body: Pattern }
  /** `captures` of the body begin anew with each time: [from, to). */
  | ({ readonly kind: 'repeat'; readonly body: Pattern; readonly captures: readonly [number, number] } & Times);

export type Edge = 'start' | 'end' | 'word' | 'notWord';

interface Times {
  readonly least: number;
  readonly most: number;
  readonly lazy: boolean;
}

export interface NamedPattern {
  readonly pattern: Pattern;
  /** Names of the captures by index, each with its place. */
  readonly names: readonly { readonly name: string; readonly offset: number }[];
}

const deepest = 100;
const groupName = /[\p{L}_][\p{L}\p{M}\p{N}_]*/uy;
const escapeForm = /\\(?:[pP]\{[^{}]*\}|u\{[^{}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|[dDwWsStnrfv]|[^\p{L}\p{N}])/uy;
const timesForm = /\{\d+(?:,\d*)?\}/y;

/** Reads up to the quote that ends the pattern; the cursor stands behind the one that begins it. */
export function parsePattern(cursor: Cursor): NamedPattern {
  return new PatternParser(cursor).parse();
}

class PatternParser {
  readonly #cursor: Cursor;
  readonly #names: { name: string; offset: number }[] = [];
  #ignoreCase = false;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  parse(): NamedPattern {
    this.#ignoreCase = this.#take('(?i)');
    const pattern = this.#choice(0);
    if (this.#next === ')') throw this.#error('")" closes no group');
    if (this.#next === '') throw this.#error('the quote of the regular expression has no end');
    return { pattern, names: this.#names };
  }

  /** The character here; empty at the end of the query. Blanks count. */
  get #next(): string {
    return this.#cursor.text[this.#cursor.end] ?? '';
  }

  #take(symbol: string): boolean {
    const { text, end } = this.#cursor;
    if (!text.startsWith(symbol, end)) return false;
    this.#cursor.moveTo(end + symbol.length);
    return true;
  }

  #error(problem: string, offset = this.#cursor.end) {
    return this.#cursor.error(offset, problem);
  }

  #choice(depth: number): Pattern {
    const first = this.#sequence(depth);
    if (this.#next !== '|') return first;
    const options = [first];
    while (this.#take('|')) options.push(this.#sequence(depth));
    return { kind: 'choice', options };
  }

  #sequence(depth: number): Pattern {
    const parts: Pattern[] = [];
    while (!['', '"', '|', ')'].includes(this.#next)) parts.push(this.#repeated(depth));
    const [only] = parts;
    return only && parts.length === 1 ? only : { kind: 'sequence', parts };
  }

  #repeated(depth: number): Pattern {
    const start = this.#cursor.end;
    const before = this.#names.length;
    const body = this.#atom(depth);
    const times = this.#times();
    if (!times) return body;
    if (canBeEmpty(body)) throw this.#error('what is repeated must not fit the empty text', start);
    if (this.#times()) throw this.#error('only one quantifier may stand here', start);
    return { kind: 'repeat', body, captures: [before, this.#names.length], ...times };
  }

  #times(): Times | undefined {
    const range = this.#range();
    return range && { ...range, lazy: this.#take('?') };
  }

  #range(): Omit<Times, 'lazy'> | undefined {
    if (this.#take('*')) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.#take('+')) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.#take('?')) return { least: 0, most: 1 };
    const start = this.#cursor.end;
    const written = this.#cursor.match(timesForm);
    if (written === undefined) return undefined;
    const [from, to] = written.slice(1, -1).split(',');
    const least = Number(from);
    const most = to === undefined ? least : to === '' ? Number.POSITIVE_INFINITY : Number(to);
    if (most < least || most === 0) throw this.#error(`${written} is no number of times`, start);
    return { least, most };
  }

  #atom(depth: number): Pattern {
    const start = this.#cursor.end;
    if (this.#take('(')) return this.#group(start, depth);
    if (this.#take('^')) return { kind: 'edge', edge: 'start' };
    if (this.#take('$')) return { kind: 'edge', edge: 'end' };
    if (this.#take('\\b')) return { kind: 'edge', edge: 'word' };
    if (this.#take('\\B')) return { kind: 'edge', edge: 'notWord' };
    if (this.#take('.')) return this.#character('.', start);
    if (this.#take('[')) return this.#character(this.#classSource(start), start);
    if ('*+?{}]'.includes(this.#next)) throw this.#error(`write "\\${this.#next}" for the character itself`);
    return this.#character(this.#characterSource(), start);
  }

  #character(source: string, start: number): Pattern {
    const test = characterTest(source, this.#ignoreCase);
    if (!test)
      throw this.#error(`${this.#cursor.text.slice(start, this.#cursor.end)} is no character and no class`, start);
    return { kind: 'character', test };
  }

  /** One character or escape, as JavaScript writes it. */
  #characterSource(): string {
    const start = this.#cursor.end;
    const { text } = this.#cursor;
    if (this.#next !== '\\') {
      const character = String.fromCodePoint(text.codePointAt(start) as number);
      this.#cursor.moveTo(start + character.length);
      return codePointSource(character);
    }
    const written = this.#cursor.match(escapeForm);
    if (written === undefined)
      throw this.#error('this escape is not known here; there are no references to groups', start);
    return /^\\[\p{L}]/u.test(written) ? written : codePointSource(written.slice(1));
  }

  #classSource(start: number): string {
    let source = this.#take('^') ? '[^' : '[';
    while (!this.#take(']')) {
      if (this.#next === '' || this.#next === '"') throw this.#error('this class has no end', start);
      source += this.#take('-') ? '-' : this.#take('\\b') ? '\\b' : this.#characterSource();
    }
    return `${source}]`;
  }

  #group(start: number, depth: number): Pattern {
    if (depth === deepest) throw this.#error(`groups stand more than ${deepest} deep in each other`, start);
    const index = this.#groupStart(start);
    const body = this.#choice(depth + 1);
    if (!this.#take(')')) throw this.#error('this group has no end', start);
    return index === undefined ? body : { kind: 'capture', index, body };
  }

  /** The index of the capture that begins here, if one does. */
  #groupStart(start: number): number | undefined {
    if (!this.#take('?') || this.#take(':')) return undefined;
    const isNamed = this.#take('<') && !['=', '!'].includes(this.#next);
    if (!isNamed) throw this.#error('groups are (…), (?:…) or (?<name>…)', start);
    const offset = this.#cursor.end;
    const name = this.#cursor.match(groupName);
    if (name === undefined || !this.#take('>')) throw this.#error('expected a name and ">"', offset);
    this.#names.push({ name, offset });
    return this.#names.length - 1;
  }
}

function codePointSource(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}

function canBeEmpty(pattern: Pattern): boolean {
  switch (pattern.kind) {
    case 'character':
      return false;
    case 'edge':
      return true;
    case 'sequence':
      return pattern.parts.every(canBeEmpty);
    case 'choice':
      return pattern.options.some(canBeEmpty);
    case 'capture':
      return canBeEmpty(pattern.body);
    case 'repeat':
      return pattern.least === 0;
  }
}
