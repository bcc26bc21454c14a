/** Reads tables on documentation pages. */

/** Returns the words in backquotes in the first column of the table whose first column has the header `head`. */
export function firstCells(page: string, head: string): readonly string[] {
  const [, rows = ''] = page.split(new RegExp(`^\\| ${head} \\|.*\n\\| --- .*\n`, 'm'));
  return [...(rows.split('\n\n')[0] ?? '').matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([\w.]+)`/g)].map(([, word = '']) => word),
  );
}
