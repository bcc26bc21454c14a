/**
 * Where things stand in the text of a JSON object: its members, or what keeps it from being one. JSON.parse says neither; it stays
 * the judge of what is valid, and this is asked about lines that it refused, or whose values have to be taken as they are
 * written.
 */

export interface Member {
  readonly name: string;
  /** The text of the value is [start, end). */
  readonly start: number;
  readonly end: number;
}

/** The members of the outermost object in the order of the text, or where something else than `expected` stands. */
export type Scan = { readonly members: readonly Member[] } | Fault;

interface Fault {
  readonly at: number;
  readonly expected: string;
}

const mostNested = 500;
const blanks = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that a JSON string may not have as they are
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

export function scanObject(text: string): Scan {
  const scanner = new Scanner(text);
  const members: Member[] = [];
  const fault = scanner.peek() === '{' ? scanner.object(0, members) : scanner.expected('an object');
  if (fault) return fault;
  return scanner.peek() === '' ? { members } : scanner.expected('the end of the line');
}

/** Each method goes through what it is named after, or says what should stand where it came to. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next character that is no blank; `''` at the end. */
  peek(): string {
    this.#take(blanks);
    return this.#text.charAt(this.#at);
  }

  expected(expected: string): Fault {
    this.#take(blanks);
    return { at: this.#at, expected };
  }

  object(depth: number, members: Member[]): Fault | undefined {
    return this.#list('}', () => {
      this.#take(blanks);
      const name = this.#take(string);
      if (name === undefined) return this.expected('the name of a member in double quotes');
      if (!this.#takeSign(':')) return this.expected('a colon');
      this.#take(blanks);
      const start = this.#at;
      const fault = this.#value(depth);
      members.push({ name: JSON.parse(name) as string, start, end: this.#at });
      return fault;
    });
  }

  #value(depth: number): Fault | undefined {
    if (depth >= mostNested) return this.expected('less nesting');
    switch (this.peek()) {
      case '{':
        return this.object(depth + 1, []);
      case '[':
        return this.#list(']', () => this.#value(depth + 1));
      default:
        return (this.#take(string) ?? this.#take(scalar)) ? undefined : this.expected('a value');
    }
  }

  /** From an opening bracket, which is there, to the closing one. */
  #list(closing: string, element: () => Fault | undefined): Fault | undefined {
    this.#at++;
    if (this.#takeSign(closing)) return undefined;
    do {
      const fault = element();
      if (fault) return fault;
    } while (this.#takeSign(','));
    return this.#takeSign(closing) ? undefined : this.expected(`a comma or ${closing}`);
  }

  #takeSign(sign: string): boolean {
    if (this.peek() !== sign) return false;
    this.#at++;
    return true;
  }

  #take(token: RegExp): string | undefined {
    token.lastIndex = this.#at;
    const [text] = token.exec(this.#text) ?? [];
    if (text !== undefined) this.#at += text.length;
    return text;
  }
}
