/**
 * Words and phrases within `_raw`: where they stand as wholes, without regard to case.
 *
 * A message is not cut into tokens, it is searched, in time linear in its length: messages have up to 256 KB. Words are made of
 * letters, marks, digits and `_`. Where a term begins or ends with one of these, no other may stand beside it.
 */
import { literalSource, type Segments } from './wildcard.ts';

/** A text of the term that stands somewhere in the message. */
interface Part {
  /** Sticky to nothing: it looks on from `lastIndex`. */
  readonly pattern: RegExp;
  /** Whether no character of a word may stand before it, behind it. */
  readonly beginsWord: boolean;
  readonly endsWord: boolean;
}

const nextBlank = /\s/g;
const wordCharacter = /[\p{L}\p{M}\p{N}_]/u;
const asciiWords = Array.from({ length: 128 }, (_, code) => /\w/.test(String.fromCharCode(code)));

/**
 * Whether a message has the segments one behind the other, with anything but blanks between them. Where the first or the last one
 * is empty, as in `err*` and `*tion`, the term may begin or end within a word.
 */
export function termTest(segments: Segments): (raw: string) => boolean {
  const texts = segments.filter((segment) => segment !== '');
  const parts = texts.map((text, index) => ({
    pattern: new RegExp(literalSource(text), 'iug'),
    beginsWord: index === 0 && segments[0] !== '' && isWordAt(text, 0),
    endsWord: index === texts.length - 1 && segments.at(-1) !== '' && isWordBefore(text, text.length),
  }));
  const [only] = parts;
  if (only === undefined) return () => true;
  return parts.length === 1 ? (raw) => find(only, raw, 0) !== undefined : (raw) => standTogether(parts, raw);
}

/** The first place from here on where the part stands. */
function find({ pattern, beginsWord, endsWord }: Part, raw: string, from: number): RegExpExecArray | undefined {
  pattern.lastIndex = from;
  for (;;) {
    const found = pattern.exec(raw);
    if (!found) return undefined;
    const isWithinWord =
      (beginsWord && isWordBefore(raw, found.index)) || (endsWord && isWordAt(raw, pattern.lastIndex));
    if (!isWithinWord) return found;
    pattern.lastIndex = found.index + ((raw.codePointAt(found.index) as number) > 0xffff ? 2 : 1);
  }
}

/**
 * Whether the parts stand one behind the other with no blank between. The first place of each is the best one, and a run without
 * blanks in which one of them is missing is left for the run that has it: nothing is looked at twice.
 */
function standTogether(parts: readonly Part[], raw: string): boolean {
  let runStart: number | undefined = 0;
  while (runStart !== undefined) {
    const next = nextRun(parts, raw, runStart);
    if (next === 'here') return true;
    runStart = next;
  }
  return false;
}

/** `here` if the parts stand in the first run that has the first one; else where the next run begins that may have them. */
function nextRun(parts: readonly Part[], raw: string, from: number): 'here' | number | undefined {
  let at = from;
  let runEnd: number | undefined;
  for (const part of parts) {
    const found = find(part, raw, at);
    if (!found) return undefined;
    if (runEnd !== undefined && found.index >= runEnd) return startOfRun(raw, found.index);
    at = part.pattern.lastIndex;
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

function isWordAt(text: string, at: number): boolean {
  const codePoint = text.codePointAt(at);
  return codePoint !== undefined && isWord(codePoint);
}

function isWordBefore(text: string, at: number): boolean {
  if (at === 0) return false;
  const pair = at > 1 ? (text.codePointAt(at - 2) as number) : 0;
  return isWord(pair > 0xffff ? pair : text.charCodeAt(at - 1));
}

function isWord(codePoint: number): boolean {
  return asciiWords[codePoint] ?? wordCharacter.test(String.fromCodePoint(codePoint));
}
