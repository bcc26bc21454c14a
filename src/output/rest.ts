/** The column for the rest: members of a row that have no column, or that are not what theirs holds, as one JSON object, each as it came. */
import { char } from '../base/json-bytes.ts';

/** It may be longer than the row by so much. */
export const restBytes = 2;

/**
 * Writes the object to the beginning of `target`, and returns where it ends: 0 where there are no members. These stand in `bytes`, each from
 * its name to the end of its value: start, end, start, end…
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
