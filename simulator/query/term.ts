/**
 * Searches message text for words and phrases, ignoring case. The search takes linear time, because a message can be up
 * to 256 KB long.
 */
import { literalSource, type Segments } from './wildcard.ts';

const nextBlank = /\s/g;
const wordCharacter = '[\\p{L}\\p{M}\\p{N}_]';
const beginsWithWord = new RegExp(`^${wordCharacter}`, 'u');
const endsWithWord = new RegExp(`${wordCharacter}$`, 'u');

/**
 * Returns a function that tests whether text contains a search term. `segments` are the parts of the term between its
 * wildcards. A wildcard matches any characters except whitespace.
 */
export function termTest(segments: Segments): (raw: string) => boolean {
  const texts = segments.filter((segment) => segment !== '');
  const parts = texts.map((text, index) => {
    const beginsWord = index === 0 && segments[0] !== '' && beginsWithWord.test(text);
    const endsWord = index === texts.length - 1 && segments.at(-1) !== '' && endsWithWord.test(text);
    const before = beginsWord ? `(?<!${wordCharacter})` : '';
    const behind = endsWord ? `(?!${wordCharacter})` : '';
    return new RegExp(`${before}${literalSource(text)}${behind}`, 'iug');
  });
  const [only] = parts;
  if (only === undefined) return () => true;
  return parts.length === 1 ? (raw) => find(only, raw, 0) !== undefined : (raw) => standTogether(parts, raw);
}

/** Returns the first match of `part`, a part of a search term, at or after the offset `from`. */
function find(part: RegExp, raw: string, from: number): RegExpExecArray | undefined {
  part.lastIndex = from;
  return part.exec(raw) ?? undefined;
}

/** Reports whether text contains all parts of a search term in order, without whitespace between the parts. */
function standTogether(parts: readonly RegExp[], raw: string): boolean {
  let runStart: number | undefined = 0;
  while (runStart !== undefined) {
    const next = nextRun(parts, raw, runStart);
    if (next === 'here') return true;
    runStart = next;
  }
  return false;
}

/**
 * Searches for the parts of a search term, in order, from the offset `from`. Returns `here` if it finds them without
 * whitespace between them. If not, returns the offset for the next attempt, or undefined if no further attempt can
 * succeed.
 */
function nextRun(parts: readonly RegExp[], raw: string, from: number): 'here' | number | undefined {
  let at = from;
  let runEnd: number | undefined;
  for (const part of parts) {
    const found = find(part, raw, at);
    if (!found) return undefined;
    if (runEnd !== undefined && found.index >= runEnd) return startOfRun(raw, found.index);
    at = part.lastIndex;
    runEnd ??= endOfRun(raw, at);
  }
  return 'here';
}

function endOfRun(raw: string, from: number): number {
  nextBlank.lastIndex = from;
  return nextBlank.exec(raw)?.index ?? raw.length;
}

function startOfRun(raw: string, from: number): number {
  let start = from;
  while (start > 0 && /\S/.test(raw[start - 1] as string)) start--;
  return start;
}
