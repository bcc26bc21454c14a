/**
 * Words and phrases within `_raw`: where they stand as wholes, without regard to case.
 *
 * A message is not cut into tokens, it is searched, in time linear in its length: messages have up to 256 KB. Words are made of
 * letters, marks, digits and `_`. Where a term begins or ends with one of these, no other may stand beside it.
 */
import { literalSource, type Segments } from './wildcard.ts';

const nextBlank = /\s/g;
const wordCharacter = '[\\p{L}\\p{M}\\p{N}_]';
const beginsWithWord = new RegExp(`^${wordCharacter}`, 'u');
const endsWithWord = new RegExp(`${wordCharacter}$`, 'u');

/**
 * Whether a message has the segments one behind the other, with anything but blanks between them. Where the first or the last one
 * is empty, as in `err*` and `*tion`, the term may begin or end within a word.
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

/** The first place from here on where the part stands; `lastIndex` is behind it then. */
function find(part: RegExp, raw: string, from: number): RegExpExecArray | undefined {
  part.lastIndex = from;
  return part.exec(raw) ?? undefined;
}

/**
 * Whether the parts stand one behind the other with no blank between. The first place of each is the best one, and a run without
 * blanks in which one of them is missing is left for the run that has it: nothing is looked at twice.
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

/** `here` if the parts stand in the first run that has the first one; else where the next run begins that may have them. */
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
