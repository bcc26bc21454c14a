/**
 * Outline of a manifest: the names of its fields, list items and text lines, without values. Comparing the outlines of
 * two versions of a manifest shows what the newer version lacks.
 */
import { isRecord } from '../../base/record.ts';

/**
 * Outline of a value. Maps the name of each field, list item or text line to the outline of what is nested below it.
 * A list item is named `[NAME]` if it has a `name`, otherwise `[INDEX]`. A line of multi-line text is named `[line
 * NUMBER]`.
 */
export interface Outline {
  readonly [name: string]: Outline;
}

/**
 * Returns the names of all fields, list items and text lines in a value. Fields without a value, such as `strategy:` at
 * the end of a file, are left out.
 */
export function outlineOf(value: unknown): Outline {
  const present = membersOf(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(present.map(([name, member]) => [name, outlineOf(member)]));
}

/**
 * Compares two outlines. Returns the path to the first name that is in `before` but not in `now`, or undefined if no
 * name is missing.
 */
export function firstMissing(before: Outline, now: Outline): readonly string[] | undefined {
  for (const [name, inner] of Object.entries(before)) {
    const found = Object.hasOwn(now, name) ? now[name] : undefined;
    if (!found) return [name];
    const missing = firstMissing(inner, found);
    if (missing) return [name, ...missing];
  }
  return undefined;
}

function membersOf(value: unknown): readonly (readonly [name: string, member: unknown])[] {
  if (Array.isArray(value)) return value.map((item: unknown, index) => [`[${nameOf(item) ?? index}]`, item]);
  if (isRecord(value)) return Object.entries(value);
  const lines = typeof value === 'string' ? value.trimEnd().split('\n') : [];
  return lines.length > 1 ? lines.map((_, index) => [`[line ${index + 1}]`, true]) : [];
}

function nameOf(item: unknown): string | undefined {
  return isRecord(item) && typeof item.name === 'string' ? item.name : undefined;
}
