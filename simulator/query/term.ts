/**
 * Searches words and phrases in `_raw`, as whole words and without regard to case.
 *
 * Messages have up to 256 KB. Messages are not split into words, but searched in linear time. Words consist of letters, marks,
 * digits and `_`. If a term begins or ends with such a character, the message must have no such character beside it.
 */
import { literalSource, type Segments } from './wildcard.ts';

const nextBlank = /\s/g;
const wordCharacter = '[\\p{L}\\p{M}\\p{N}_]';
const beginsWithWord = new RegExp(`^${wordCharacter}`, 'u');
const endsWithWord = new RegExp(`${wordCharacter}$`, 'u');

/**
 * Returns a function that tests a message. The message must have the segments in order, with only non-blank characters between
 * them. If the first or last segment is empty, as in `err*` and `*tion`, the term may begin or end within a word.
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

/** Finds the next occurrence of a part of the term. Returns its position, and sets `lastIndex` to its end. */
function find(part: RegExp, raw: string, from: number): RegExpExecArray | undefined {
  part.lastIndex = from;
  return part.exec(raw) ?? undefined;
}

/**
 * Returns whether the parts of the term follow each other in text without blanks. Only the first occurrence of each part matters.
 * If a part is missing before the next blank, the search continues after that blank, so no character is searched twice.
 */
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
 * Returns `here` if a text without blanks after `from` has all parts of the term. Otherwise returns the next position at which a
 * match may start, or undefined if there is no match.
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
