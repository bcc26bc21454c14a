/**
 * Words and phrases within `_raw`: where they stand as wholes, without regard to case.
 *
 * A message is not cut into tokens, it is searched, in time linear in its length: messages have up to 256 KB. Words are made of letters,
 * marks, digits and `_`. Where a term begins or ends with one of these, no other may stand beside it.
 */
import { literalSource, type Segments } from './wildcard.ts';

const wordCharacter = String.raw`[\p{L}\p{M}\p{N}_]`;
const startsWithWord = new RegExp(`^${wordCharacter}`, 'u');
const endsWithWord = new RegExp(`${wordCharacter}$`, 'u');
const nextBlank = /\s/g;

/** Whether a message has the segments, with anything but blanks between them. Open ends (`err*`, `*tion`) may lie within a word. */
export function termTest(segments: Segments): (raw: string) => boolean {
  const parts = segments.filter((segment) => segment !== '');
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined) return () => true;
  const before = segments[0] !== '' && startsWithWord.test(first) ? `(?<!${wordCharacter})` : '';
  const behind = segments.at(-1) !== '' && endsWithWord.test(last) ? `(?!${wordCharacter})` : '';
  if (parts.length === 1) {
    const whole = new RegExp(`${before}${literalSource(first)}${behind}`, 'iu');
    return (raw) => whole.test(raw);
  }
  const sources = parts.map(literalSource);
  sources[0] = before + sources[0];
  sources[sources.length - 1] += behind;
  const patterns = sources.map((source) => new RegExp(source, 'iug'));
  return (raw) => standsWithoutBlanks(patterns, raw);
}

/**
 * Whether the patterns stand one behind the other with no blank between. The first place of each is the best one, and a run without
 * blanks in which one of them is missing is left for the run that has it: nothing is looked at twice.
 */
function standsWithoutBlanks(patterns: readonly RegExp[], raw: string): boolean {
  let runStart = 0;
  for (;;) {
    let at = runStart;
    let runEnd: number | undefined;
    let missing = false;
    for (const pattern of patterns) {
      pattern.lastIndex = at;
      const found = pattern.exec(raw);
      if (!found) return false;
      if (runEnd !== undefined && found.index >= runEnd) {
        runStart = startOfRun(raw, found.index);
        missing = true;
        break;
      }
      at = pattern.lastIndex;
      runEnd ??= endOfRun(raw, at);
    }
    if (!missing) return true;
  }
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
