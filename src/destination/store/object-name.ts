/**
 * Checks object names. Names are relative, and their segments are separated by `/`.
 *
 * No segment of a valid name begins with a dot, so a name cannot contain the segments `.` and `..`. A segment consists
 * of letters, digits, some punctuation, and inner spaces.
 */
import { shortened } from '../../base/short-text.ts';
import { destinationError } from './destination-error.ts';

/** Maximum length in bytes of a name segment (the text between two slashes). File systems have the same limit. */
const maxSegmentBytes = 255;
const maxNameBytes = 1_024;

/**
 * Matches the text between two slashes of an object name: letters and digits of any language, some punctuation, and
 * inner spaces. It does not begin with a dot or a minus sign.
 */
const segmentForm = /^[\p{L}\p{N}_=+,@~!()][\p{L}\p{M}\p{N}_=+,@~!().-]*(?: +[\p{L}\p{M}\p{N}_=+,@~!().-]+)*$/u;

/** Splits a name at its slashes. Throws the error `destination.name` if the name is invalid. */
export function nameSegments(name: string): readonly string[] {
  const problem = nameProblem(name);
  if (problem !== undefined) throw destinationError('name', `${shown(name)} is not a valid file name: ${problem}`);
  return name.split('/');
}

/** Splits a folder's name at its slashes. An empty name means the root. */
export function folderSegments(folder: string): readonly string[] {
  return folder === '' ? [] : nameSegments(folder);
}

/** Returns the common prefix of all keys in a folder, such as `root/folder/`. */
export function keyPrefix(root: string, folder: string): string {
  return [...folderSegments(root), ...folderSegments(folder)].map((segment) => `${segment}/`).join('');
}

/** Returns the key of an object: the root followed by the object's name. Throws if the key is too long. */
export function objectKey(root: string, name: string): string {
  nameSegments(name);
  return nameSegments(`${keyPrefix(root, '')}${name}`).join('/');
}

/** Returns what is wrong with an object name, or undefined if the name is valid. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (Buffer.byteLength(name) > maxNameBytes) return `it is longer than ${maxNameBytes} bytes`;
  if (name.startsWith('/')) return 'it must not begin with a slash';
  for (const segment of name.split('/')) {
    const problem = segmentProblem(segment);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function segmentProblem(segment: string): string | undefined {
  if (segment === '') return 'it has two consecutive slashes, or ends with a slash';
  if (segment.startsWith('.')) return `${shown(segment)} begins with a dot`;
  if (Buffer.byteLength(segment) > maxSegmentBytes) return `${shown(segment)} is longer than ${maxSegmentBytes} bytes`;
  if (segment.startsWith('-')) return `${shown(segment)} begins with a minus`;
  if (segment.startsWith(' ') || segment.endsWith(' ')) return `${shown(segment)} begins or ends with a space`;
  if (segment.normalize('NFC') !== segment) return `${shown(segment)} is not in Unicode Normalization Form C (NFC)`;
  if (segmentForm.test(segment)) return undefined;
  return `${shown(segment)} has characters other than letters, digits, _ = + , @ ~ ! ( ) . - and inner spaces`;
}

/** Escapes, shortens and quotes a name so that a message can show it. */
function shown(name: string): string {
  const text = JSON.stringify(shortened(name, 80));
  return text.replace(/[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (sign) => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
