/**
 * The one place where names of objects are checked, before any destination sees them: relative, `/` between segments, and made
 * of characters that mean themselves everywhere (in paths, in keys, in URLs after escaping once).
 *
 * Invariant: a checked name has no segment that could lead upwards, out of the root or to a file of logfleet's own (those begin
 * with a dot), and no character that a shell, a URL or a file system takes for something else.
 */
import { destinationError } from './destination-error.ts';

/** What file systems take for one segment, and what stores take for a whole key, both in bytes of UTF-8. */
const maxSegmentBytes = 255;
const maxNameBytes = 1_024;

/** Letters and digits of all languages, and a few signs. Spaces only inside; a dot or a minus not first. */
const segmentForm = /^[\p{L}\p{N}_=+,@~!()][\p{L}\p{M}\p{N}_=+,@~!().-]*(?: +[\p{L}\p{M}\p{N}_=+,@~!().-]+)*$/u;

/** Its segments; `destination.name` when it is none. */
export function nameSegments(name: string): readonly string[] {
  const problem = nameProblem(name);
  if (problem !== undefined) throw destinationError('name', `${shown(name)} is no name for a file: ${problem}`);
  return name.split('/');
}

/** As `nameSegments` has it, for folders: the empty name is the root itself. */
export function folderSegments(folder: string): readonly string[] {
  return folder === '' ? [] : nameSegments(folder);
}

/** What is wrong with a name, and what to write instead; undefined when nothing is. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (Buffer.byteLength(name) > maxNameBytes) return `it has more than ${maxNameBytes} bytes`;
  if (name.startsWith('/')) return 'it must not begin with a slash';
  for (const segment of name.split('/')) {
    const problem = segmentProblem(segment);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function segmentProblem(segment: string): string | undefined {
  if (segment === '') return 'it has two slashes in a row, or one at its end';
  if (segment.startsWith('.')) return `${shown(segment)} begins with a dot`;
  if (Buffer.byteLength(segment) > maxSegmentBytes) return `${shown(segment)} has more than ${maxSegmentBytes} bytes`;
  if (segmentForm.test(segment) && segment.normalize('NFC') === segment) return undefined;
  return `${shown(segment)} has characters other than letters, digits and _ = + , @ ~ ! ( ) . - with spaces inside`;
}

/** Names may come from anywhere: quoted, with everything strange escaped, and short. */
function shown(name: string): string {
  const text = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  return text.replace(/[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (sign) => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
