/**
 * Digests of the text of a manifest file. They show later whether another text is a truncated copy of it. The text
 * itself is not stored, because it may contain a Secret.
 */
import { hash } from 'node:crypto';

export interface TextPrint {
  /** Digest of each line of the text. */
  readonly lines: readonly string[];
  /** Length of the last line in characters. */
  readonly lastLength: number;
  /** Number of lines up to and including the last line that is neither blank nor a comment. */
  readonly significant: number;
}

export function printOf(text: string): TextPrint {
  const { lines } = linesOf(text);
  const significant = lines.findLastIndex(isSignificant) + 1;
  return { lines: lines.map(digest), lastLength: lines.at(-1)?.length ?? 0, significant };
}

/**
 * Returns whether `text` is a truncated copy of the text with the digests `print`, and more than blank lines and
 * comments is missing. If `text` ends within a line, only its complete lines are compared.
 */
export function isCut(text: string, print: TextPrint): boolean {
  const { lines, isEnded } = linesOf(text);
  const same = lines.findIndex((line, index) => digest(line) !== print.lines[index]);
  const whole = same === -1 ? lines.length : same;
  const isBeginning = whole === lines.length || (!isEnded && whole === lines.length - 1);
  if (!isBeginning || whole >= print.significant) return false;
  return lines.length < print.lines.length || (lines.at(-1)?.length ?? 0) < print.lastLength;
}

function linesOf(text: string): { readonly lines: readonly string[]; readonly isEnded: boolean } {
  const lines = text.split('\n');
  const isEnded = lines.at(-1) === '';
  return { lines: isEnded ? lines.slice(0, -1) : lines, isEnded };
}

function isSignificant(line: string): boolean {
  return /^(?!---\s*$|\.\.\.\s*$)\s*[^#\s]/.test(line);
}

/** Returns a digest of 48 bits for one line. */
function digest(text: string): string {
  return hash('sha256', text, 'base64').slice(0, 8);
}
