/** The column for the rest: members of a row that have no column, or that are not what theirs holds, as one JSON object, each as it came. */
import { char } from './json-text.ts';
import type { RowColumns } from './row-columns.ts';

/** It may be longer than the row by so much. */
export const restBytes = 2;

/** Writes the object to the beginning of `target`, and returns where it ends: 0 where there is nothing. `misfits` are columns. */
export function writeRest(target: Buffer, row: RowColumns, misfits: readonly number[]): number {
  let at = 0;
  const write = (start: number, end: number) => {
    target[at] = at === 0 ? char.objectStart : char.comma;
    at += 1 + row.bytes.copy(target, at + 1, start, end);
  };
  for (const column of misfits) write(row.nameStarts[column] as number, row.ends[column] as number);
  for (let index = 0; index < row.others.length; index += 2) {
    write(row.others[index] as number, row.others[index + 1] as number);
  }
  if (at > 0) target[at++] = char.objectEnd;
  return at;
}
