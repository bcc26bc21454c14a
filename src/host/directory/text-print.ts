/**
 * Digests of a file's text that show later whether another text is a truncated copy. The text itself is not stored, because it may contain
 * a Secret.
 */
import { hash } from 'node:crypto';

export interface TextPrint {
  /** Digest of each line. */
  readonly lines: readonly string[];
  /** Digest of each prefix of the last line, shortest first; at most `maxBeginnings`. */
  readonly lastLine: readonly string[];
  /** True if the last line ends with a line feed. */
  readonly ended: boolean;
  /** Number of lines up to the last line that is neither blank nor a comment. */
  readonly significant: number;
}

/** Maximum number of prefixes. A longer line is identified by its first characters only. */
const maxBeginnings = 16_384;

export function printOf(text: string): TextPrint {
  const { lines, ended } = linesOf(text);
  const last = lines.at(-1) ?? '';
  const length = Math.min(last.length, maxBeginnings);
  return {
    lines: lines.map(digest),
    lastLine: Array.from({ length }, (_, index) => digest(last.slice(0, index + 1))),
    ended,
    significant: lines.findLastIndex(isSignificant) + 1,
  };
}

/** Returns whether `text` is the printed text without its end, where more than blank lines and comments are missing. */
export function isCut(text: string, print: TextPrint): boolean {
  const { lines, ended } = linesOf(text);
  const whole = ended || digest(lines.at(-1) ?? '') === print.lines[lines.length - 1] ? lines.length : lines.length - 1;
  return whole < print.significant && isBeginningOf(text, print);
}

/**
 * Returns whether `text` is a prefix of the printed text. A cut within a line is certain only in the last line. In other lines, a text that
 * ends within the line counts as cut there.
 */
function isBeginningOf(text: string, print: TextPrint): boolean {
  const { lines, ended } = linesOf(text);
  const whole = ended ? lines : lines.slice(0, -1);
  if (whole.some((line, index) => digest(line) !== print.lines[index])) return false;
  if (lines.length !== print.lines.length) return lines.length < print.lines.length;
  if (ended) return false;
  const last = lines.at(-1) ?? '';
  if (digest(last) === print.lines.at(-1)) return print.ended;
  return last.length < print.lastLine.length && digest(last) === print.lastLine[last.length - 1];
}

function linesOf(text: string): { readonly lines: readonly string[]; readonly ended: boolean } {
  const lines = text.split('\n');
  const ended = lines.at(-1) === '';
  return { lines: ended ? lines.slice(0, -1) : lines, ended };
}

function isSignificant(line: string): boolean {
  return /^(?!---\s*$|\.\.\.\s*$)\s*[^#\s]/.test(line);
}

/** A digest of 48 bits. */
function digest(text: string): string {
  return hash('sha256', text, 'base64').slice(0, 8);
}
