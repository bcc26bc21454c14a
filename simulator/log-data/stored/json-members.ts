/** Finds the positions of members and errors in JSON text, because JSON.parse does not report positions. */

export interface JsonMember {
  readonly name: string;
  /** Range [start, end) of the member's value, as offsets in the JSON text. */
  readonly start: number;
  readonly end: number;
}

/** Result of a scan: the members of a JSON object, or the first error with its position. */
export type JsonScan = { readonly members: readonly JsonMember[] } | JsonFault;

interface JsonFault {
  readonly at: number;
  readonly expected: string;
}

const maxNested = 500;
const blanks = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings must escape control characters
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

export function scanObject(text: string): JsonScan {
  const scanner = new Scanner(text);
  const members: JsonMember[] = [];
  const fault = scanner.peek() === '{' ? scanner.object(0, members) : scanner.expected('an object');
  if (fault) return fault;
  return scanner.peek() === '' ? { members } : scanner.expected('the end of the line');
}

/**
 * Reads JSON from left to right. If the JSON is invalid, a method returns the position of the error and what was
 * expected there.
 */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Skips whitespace. Returns the next character without reading past it, or `''` at the end of the text. */
  peek(): string {
    this.#take(blanks);
    return this.#text.charAt(this.#at);
  }

  expected(expected: string): JsonFault {
    this.#take(blanks);
    return { at: this.#at, expected };
  }

  object(depth: number, members: JsonMember[]): JsonFault | undefined {
    return this.#list('}', () => {
      this.#take(blanks);
      const name = this.#take(string);
      if (name === undefined) return this.expected('a member name in double quotes');
      if (!this.#takeSign(':')) return this.expected('a colon');
      this.#take(blanks);
      const start = this.#at;
      const fault = this.#value(depth);
      members.push({ name: JSON.parse(name) as string, start, end: this.#at });
      return fault;
    });
  }

  #value(depth: number): JsonFault | undefined {
    if (depth >= maxNested) return this.expected('less nesting');
    switch (this.peek()) {
      case '{':
        return this.object(depth + 1, []);
      case '[':
        return this.#list(']', () => this.#value(depth + 1));
      default:
        return (this.#take(string) ?? this.#take(scalar)) ? undefined : this.expected('a value');
    }
  }

  /** Reads a JSON array from its opening to its closing bracket. */
  #list(closing: string, element: () => JsonFault | undefined): JsonFault | undefined {
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
