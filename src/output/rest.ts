/**
 * Column for the rest: members of a row without a column, or without their column's type, as one JSON object with unchanged values.
 */
import { char } from '../base/json-bytes.ts';

/** Maximum number of bytes by which the object exceeds the row. */
export const restBytes = 2;

/**
 * Writes the object to the beginning of `target` and returns its end, or 0 if there are no members. `members` contains the range of
 * each member in `bytes`, from its name to the end of its value: start, end, start, end…
 */
export function writeRest(target: Buffer, bytes: Buffer, members: readonly number[]): number {
  let at = 0;
  for (let index = 0; index < members.length; index += 2) {
    target[at] = at === 0 ? char.objectStart : char.comma;
    at += 1 + bytes.copy(target, at + 1, members[index], members[index + 1]);
  }
  if (at > 0) target[at++] = char.objectEnd;
  return at;
}
