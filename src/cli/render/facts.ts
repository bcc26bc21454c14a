/** Lists of names with their values, and sections with a title. */
import { type Paint, printable, wrap } from './palette.ts';

/** A fact with an undefined value is left out. */
export type Fact = readonly [name: string, value: string | undefined];

interface FactsOptions {
  readonly width: number;
  readonly paint: Paint;
  /** Number of blanks before each line. */
  readonly margin?: number;
  /** Columns of the names with their colon. Default: the width of the longest name and three blanks. */
  readonly nameWidth?: number;
}

export function renderFacts(all: readonly Fact[], { width, paint, margin = 0, nameWidth }: FactsOptions): string[] {
  const present = all.filter((fact): fact is readonly [string, string] => fact[1] !== undefined);
  const column = nameWidth ?? Math.max(...present.map(([name]) => name.length)) + 4;
  const indent = margin + column;
  return present.flatMap(([name, value]) =>
    wrap(printable(value), Math.max(20, width - indent)).map(
      (line, index) =>
        (index === 0 ? ' '.repeat(margin) + paint('bold', `${name}:`.padEnd(column)) : ' '.repeat(indent)) + line,
    ),
  );
}

/** Empty if there are no lines. */
export function section(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : ['', paint('bold', title), ...lines.map((line) => `  ${line}`)];
}
