/**
 * Redraws lines at the bottom of a terminal. The lines above scroll as usual.
 *
 * The redrawn lines must fit in the window. Otherwise, the terminal would scroll or wrap them, and the next drawing
 * would not replace them.
 */
import { type Output, showCursor } from '../command/context.ts';
import { clip } from './terminal-text.ts';

const hideCursor = '\u001b[?25l';
const eraseToLineEnd = '\u001b[K';
const eraseBelow = '\u001b[J';

export class Screen {
  readonly #output: Output;
  #height = 0;
  #begun = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Replaces all redrawn lines in one write. */
  draw(lines: readonly string[]): void {
    const width = this.#output.columns() - 1;
    const shown = fitHeight(lines, this.#output.rows() - 1).map((line) => `${clip(line, width)}${eraseToLineEnd}\n`);
    const start = this.#begun ? '' : hideCursor;
    this.#output.write(`${start}${this.#moveToStart()}${shown.join('')}${eraseBelow}`);
    this.#begun = true;
    this.#height = shown.length;
  }

  /** Writes a line above the redrawn lines, which disappear until the next `draw`. */
  print(line: string): void {
    this.#output.write(`${this.#moveToStart()}${eraseBelow}${line}\n`);
    this.#height = 0;
  }

  /** Stops drawing. Leaves the last lines on the screen, and shows the cursor again. */
  end(): void {
    if (this.#begun) this.#output.write(showCursor);
    this.#begun = false;
    this.#height = 0;
  }

  #moveToStart(): string {
    return this.#height === 0 ? '' : `\u001b[${this.#height}A\r`;
  }
}

function fitHeight(lines: readonly string[], height: number): readonly string[] {
  if (lines.length <= height) return lines;
  const shown = Math.max(0, height - 1);
  const hidden = lines.length - shown;
  return [...lines.slice(0, shown), `… ${hidden} more lines: enlarge the window`];
}
