/** Parses wildcard patterns, and tests in linear time whether a whole value matches a pattern. Case is ignored. */

/**
 * The literal parts before, between and after the wildcards of a pattern. For example, the pattern `a*b` has the parts
 * `a` and `b`.
 */
export type Segments = readonly [string, ...string[]];

/** Splits a pattern at each `*`. A backslash escapes `*`, `"` and a backslash. */
export function cutAtWildcards(written: string): Segments {
  const segments: [string, ...string[]] = [''];
  for (const [piece] of written.matchAll(/\\[\\"*]|[\s\S]/g)) {
    if (piece === '*') segments.push('');
    else segments.push(`${segments.pop()}${piece.slice(-1)}`);
  }
  return segments;
}

/**
 * Returns the pattern as plain text: removes the backslashes that escape characters, and keeps each wildcard as `*`.
 */
export function withoutWildcards(written: string): string {
  return cutAtWildcards(written).join('*');
}

/** Escapes a text for a regular expression. */
export function literalSource(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/**
 * Returns a function that tests whether a whole value matches a wildcard pattern. `segments` are the literal parts of
 * the pattern before, between and after its wildcards.
 */
export function wildcardTest(segments: Segments): (value: string) => boolean {
  const [first, ...rest] = segments;
  const last = rest.pop();
  if (last === undefined) return matcher(`^${literalSource(first)}$`, 'iu');
  const starts = matcher(`^${literalSource(first)}`, 'iu');
  const ends = new RegExp(literalSource(last), 'iuy');
  const inner = rest.filter((segment) => segment !== '').map((segment) => new RegExp(literalSource(segment), 'iug'));
  return (value) => {
    const endsAt = value.length - last.length;
    ends.lastIndex = endsAt;
    return starts(value) && ends.test(value) && standInTurn(inner, value, first.length) <= endsAt;
  };
}

function matcher(source: string, flags: string): (value: string) => boolean {
  const pattern = new RegExp(source, flags);
  return (value) => pattern.test(value);
}

/**
 * Searches a value for several patterns in the given order, starting at `from`. Returns the end of the last match, or
 * Infinity if a pattern is not found.
 */
function standInTurn(patterns: readonly RegExp[], value: string, from: number): number {
  let at = from;
  for (const pattern of patterns) {
    pattern.lastIndex = at;
    if (!pattern.test(value)) return Number.POSITIVE_INFINITY;
    at = pattern.lastIndex;
  }
  return at;
}
