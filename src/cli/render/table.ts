/**
 * Tables in the style of kubectl: headings in capitals, columns as wide as needed, and three blanks between columns, or fewer in a narrow
 * window.
 */
import { printable, widthOf } from './palette.ts';

const widestGap = 3;

/** Width of each column. Kept by callers that add rows later. */
type ColumnWidths = readonly number[];

export function columnWidths(rows: readonly (readonly string[])[]): ColumnWidths {
  const count = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => widthOf(printable(row[column] ?? '')))),
  );
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

/** Lines of the table with its headings. The gaps shrink so that the table fits into `width`, if that is enough. */
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
