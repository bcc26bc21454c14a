/**
 * Colours of a terminal, and text that is fit for one. What comes from a service or a manifest may hold control characters
 * that would steer the terminal; `printable` is the one gate that such text goes through.
 */

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;

export type Colour = keyof typeof codes;

/** Wraps a text in a colour; without colours it gives the text back. */
export type Paint = (colour: Colour, text: string) => string;

export function paintWith(colour: boolean): Paint {
  return colour ? (name, text) => (text === '' ? '' : `\u001b[${codes[name]}m${text}\u001b[0m`) : (_, text) => text;
}

/** What `paintWith` writes. Escape is spelled by its category, since it must stand in no source text as itself. */
const escapeSequences = /\p{Cc}\[\d+m/gu;
const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** The text on one line, with runs of control and invisible formatting characters as one blank. */
export function printable(text: string): string {
  return text.replaceAll(controls, ' ');
}

/** Columns that a text takes, colours left out; characters of double width are counted once. */
export function widthOf(text: string): number {
  return Array.from(text.replaceAll(escapeSequences, '')).length;
}

/** At most `width` columns of an uncoloured text; what is cut off shows as `…`. */
export function clip(text: string, width: number): string {
  const characters = Array.from(text);
  if (characters.length <= width) return text;
  return width <= 0 ? '' : `${characters.slice(0, width - 1).join('')}…`;
}

/** At most `width` columns of a text that may hold colours, which count nothing and are ended where it is cut. */
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

/** A sentence broken at blanks into lines of at most `width` columns; longer words stay whole. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && widthOf(line) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
