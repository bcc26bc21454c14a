/**
 * Searches words and phrases in the text of a message, as whole words and without regard to case.
 *
 * Words consist of letters, marks, digits and `_`. The text is not split into words, because messages have up to 256 KB; the
 * search takes linear time.
 */
import { literalSource, type Segments } from './wildcard.ts';

const nextBlank = /\s/g;
const wordCharacter = '[\\p{L}\\p{M}\\p{N}_]';
const beginsWithWord = new RegExp(`^${wordCharacter}`, 'u');
const endsWithWord = new RegExp(`${wordCharacter}$`, 'u');

/**
 * Returns a function that finds a search term in the text of a message. `segments` are the texts between the wildcards of the
 * term; in the message, only non-blank characters may be between them. An empty first or last segment, as in `err*` and
 * `*tion`, lets the term begin or end within a word.
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

/** Finds the next text that matches a part of the search term. */
function find(part: RegExp, raw: string, from: number): RegExpExecArray | undefined {
  part.lastIndex = from;
  return part.exec(raw) ?? undefined;
}

/** Returns whether the parts of a search term occur in order without blanks between them, in linear time. */
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
 * Returns `here` if all parts of the search term occur in order before the next blank. Otherwise returns the position from
 * which to search next, or undefined if no match is possible.
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
