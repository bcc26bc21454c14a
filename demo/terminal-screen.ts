/**
 * Emulates a terminal that supports the escape sequences that logfleet writes. The screen is as high as its content and
 * never scrolls.
 */

/**
 * SGR parameters that `paintWith` writes: 1 is bold, 2 is dim, and 31 to 36 are colours. An empty string means no
 * style.
 */
export type Style = '' | `${number}`;

/** Adjacent characters with the same style. */
export interface TextRun {
  readonly text: string;
  readonly style: Style;
  /** Column of the first character, counted from 0. */
  readonly column: number;
}

interface Cell {
  readonly character: string;
  readonly style: Style;
}

/** SGR parameters that end bold or dim text (22), a colour (39), or every style. */
const endsStyle = /^(?:0|22|39)?$/;

/** An escape sequence, a control character, or text. */
const pieces = /\p{Cc}\[(\??)(\d*)([A-Za-z])|\p{Cc}|[^\p{Cc}]+/gu;

export class TerminalScreen {
  readonly #rows: Cell[][] = [];
  #row = 0;
  #column = 0;
  #style: Style = '';

  write(text: string): void {
    for (const [piece, isPrivate, parameter = '', letter] of text.matchAll(pieces)) {
      if (letter !== undefined) {
        if (isPrivate === '') this.#obey(letter, parameter);
      } else if (piece === '\n') {
        this.#row++;
        this.#column = 0;
      } else if (piece === '\r') {
        this.#column = 0;
      } else if (!/^\p{Cc}/u.test(piece)) {
        this.#print(piece);
      }
    }
  }

  /**
   * Returns the rows of the screen without trailing spaces. Each row is split into pieces of text that have one style
   * each.
   */
  rows(): readonly (readonly TextRun[])[] {
    return Array.from({ length: this.#rows.length }, (_, row) => runsOf(this.#rows[row] ?? []));
  }

  #obey(letter: string, parameter: string): void {
    const count = Number(parameter || 1);
    if (letter === 'm') this.#style = endsStyle.test(parameter) ? '' : (parameter as Style);
    else if (letter === 'A') this.#row = Math.max(0, this.#row - count);
    else if (letter === 'K') this.#line().length = Math.min(this.#line().length, this.#column);
    else if (letter === 'J') {
      this.#line().length = Math.min(this.#line().length, this.#column);
      this.#rows.length = Math.min(this.#rows.length, this.#row + 1);
    }
  }

  #print(text: string): void {
    const line = this.#line();
    for (const character of text) line[this.#column++] = { character, style: this.#style };
  }

  #line(): Cell[] {
    this.#rows[this.#row] ??= [];
    return this.#rows[this.#row] as Cell[];
  }
}

function runsOf(cells: readonly (Cell | undefined)[]): readonly TextRun[] {
  const runs: TextRun[] = [];
  for (const [column, cell] of [...cells].entries()) {
    const { character, style } = cell ?? { character: ' ', style: '' };
    const last = runs.at(-1);
    if (last && last.style === style) runs[runs.length - 1] = { ...last, text: last.text + character };
    else runs.push({ text: character, style, column });
  }
  return runs.filter(({ text }) => text.trim() !== '');
}

/** Returns the text of a row without colours. */
export function textOf(row: readonly TextRun[]): string {
  return row.reduce((line, { text, column }) => line.padEnd(column) + text, '').trimEnd();
}
