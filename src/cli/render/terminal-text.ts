/** Measures, truncates and wraps coloured text in the columns of a terminal. */
import sliceAnsi from 'slice-ansi';
import stringWidth from 'string-width';

/** Returns the width of a text in columns, ignoring its colours. Most CJK characters and emoji take two columns. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** Truncates a coloured text to `width` columns with `…`, and closes open colours. */
export function clip(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width <= 0 ? '' : `${sliceAnsi(text, 0, width - 1)}…`;
}

/** Breaks text at spaces into lines of at most `width` columns. Words that are longer than a line are not broken. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && widthOf(line) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Wraps a line. Continuation lines are indented by `hanging` additional columns. */
export function wrapIndented(line: string, width: number, hanging = 4): readonly string[] {
  if (widthOf(line) <= width) return [line];
  const indent = /^ */.exec(line)?.[0] ?? '';
  const [first = '', ...more] = wrap(line.slice(indent.length), Math.max(20, width - indent.length));
  const inner = ' '.repeat(indent.length + hanging);
  const rest = more.length === 0 ? [] : wrap(more.join(' '), Math.max(20, width - inner.length));
  return [indent + first, ...rest.map((text) => inner + text)];
}
