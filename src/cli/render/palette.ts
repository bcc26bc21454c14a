/**
 * Colours of a terminal, and text that is safe and fits. Texts of a service or a manifest can contain control characters that would change
 * the terminal. `printable` removes them.
 */

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;

export type Colour = keyof typeof codes;

/** Colours a text. Returns the text unchanged if colours are off. */
export type Paint = (colour: Colour, text: string) => string;

export function paintWith(colour: boolean): Paint {
  return colour ? (name, text) => (text === '' ? '' : `\u001b[${codes[name]}m${text}\u001b[0m`) : (_, text) => text;
}

/** Sequences that `paintWith` writes. The escape character is matched by its category, since it must not appear in source code. */
const escapeSequences = /\p{Cc}\[\d+m/gu;
const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** The text on one line. Control characters and invisible formatting characters become blanks. */
export function printable(text: string): string {
  return text.replaceAll(controls, ' ');
}

/** Number of columns of a text, without its colours. A double-width character counts as one. */
export function widthOf(text: string): number {
  return Array.from(text.replaceAll(escapeSequences, '')).length;
}

/** At most `width` columns of a text without colours. `…` replaces the rest. */
export function clip(text: string, width: number): string {
  const characters = Array.from(text);
  if (characters.length <= width) return text;
  return width <= 0 ? '' : `${characters.slice(0, width - 1).join('')}…`;
}

/** At most `width` columns of a text with colours. `…` replaces the rest, and open colours are closed. */
export function clipColoured(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let left = Math.max(0, width - 1);
  let last = 0;
  for (const match of [...text.matchAll(escapeSequences), undefined]) {
    const piece = Array.from(text.slice(last, match?.index)).slice(0, left);
    kept += piece.join('') + (match?.[0] ?? '');
    left -= piece.length;
    last = match ? match.index + match[0].length : text.length;
  }
  return width <= 0 ? kept : `${kept}…`;
}

/** Lines of at most `width` columns, broken at blanks. Longer words stay whole. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && widthOf(line) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
