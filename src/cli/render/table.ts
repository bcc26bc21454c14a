/** Text layouts for terminals: tables, and lists of names with values. */

import type { Paint } from './paint.ts';
import { widthOf, wrap } from './terminal-text.ts';
import { printable } from './text.ts';

const widestGap = 3;

/** Widths of a table's columns. Callers reuse the widths, so that later rows line up with earlier rows. */
type ColumnWidths = readonly number[];

export function columnWidths(rows: readonly (readonly string[])[]): ColumnWidths {
  const count = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => widthOf(printable(row[column] ?? '')))),
  );
}

/** Pads strings with spaces, so that all have the same width. */
export function aligned(texts: readonly string[]): readonly string[] {
  const width = Math.max(0, ...texts.map(widthOf));
  return texts.map((text) => text + ' '.repeat(width - widthOf(text)));
}

export function renderRow(cells: readonly string[], widths: ColumnWidths, gap = widestGap): string {
  return cells
    .map((cell, column) => {
      const text = printable(cell);
      return text + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(text)));
    })
    .join(' '.repeat(gap))
    .trimEnd();
}

/** Renders a table. If the table would be wider than `width`, the gaps between its columns shrink. */
export function renderTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): readonly string[] {
  const all = [headings.map((heading) => heading.toUpperCase()), ...rows];
  const widths = columnWidths(all);
  const ink = widths.reduce((sum, column) => sum + column, 0);
  const gap = Math.floor((width - ink) / Math.max(1, widths.length - 1));
  return all.map((row) => renderRow(row, widths, Math.max(1, Math.min(widestGap, gap))));
}

/** Line of a list: a name and its value. A line with an undefined value is not printed. */
export type Fact = readonly [name: string, value: string | undefined];

interface FactsOptions {
  readonly width: number;
  readonly paint: Paint;
  /** Number of spaces before each line of the list. */
  readonly margin?: number;
  /** Width in columns of the names, including the colon. */
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
