/** Tables in the manner of kubectl: headings in capitals, columns as wide as they need to be, three blanks between them. */
import { clip, printable, widthOf } from './palette.ts';

const gap = '   ';

/** How wide each column is; kept by whoever adds rows later, so that they stand under the others. */
export type ColumnWidths = readonly number[];

export function columnWidths(rows: readonly (readonly string[])[]): ColumnWidths {
  const count = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => widthOf(printable(row[column] ?? '')))),
  );
}

export function renderRow(cells: readonly string[], widths: ColumnWidths): string {
  return cells
    .map((cell, column) => {
      const text = printable(cell);
      return text + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(text)));
    })
    .join(gap)
    .trimEnd();
}

/** Lines with the headings first. `width` cuts each line off there; without it they are as long as they are. */
export function renderTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  width?: number,
): readonly string[] {
  const all = [headings.map((heading) => heading.toUpperCase()), ...rows];
  const widths = columnWidths(all);
  return all.map((row) => renderRow(row, widths)).map((line) => (width === undefined ? line : clip(line, width)));
}
