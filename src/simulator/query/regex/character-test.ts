/** Whether one character fits a literal, an escape or a class of a regular expression: by table below 128, by JavaScript's engine above. */

export interface CharacterTest {
  fits(codePoint: number): boolean;
  /** The one character that fits, where there is only one. */
  readonly literal: string | undefined;
}

const tableSize = 128;
const onlyCharacter = /^\\u\{([\da-f]+)\}$/;

/** `source` with the flag `u`; undefined where it is no such. */
export function characterTest(source: string, ignoreCase: boolean): CharacterTest | undefined {
  const codePoint = onlyCharacter.exec(source)?.[1];
  if (codePoint !== undefined && !ignoreCase) {
    const only = Number.parseInt(codePoint, 16);
    return { fits: (other) => other === only, literal: String.fromCodePoint(only) };
  }
  const pattern = compile(source, ignoreCase ? 'iu' : 'u');
  if (!pattern) return undefined;
  const table = Array.from({ length: tableSize }, (_, code) => pattern.test(String.fromCharCode(code)));
  return {
    fits: (other) => (other < tableSize ? (table[other] as boolean) : pattern.test(String.fromCodePoint(other))),
    literal: undefined,
  };
}

function compile(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(`^${source}$`, flags);
  } catch {
    return undefined;
  }
}
