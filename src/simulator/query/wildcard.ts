/**
 * Texts with wildcards: how they are written, and whether a whole value fits. Case does not count.
 *
 * Time is linear in the value: parts between wildcards are looked for one after the other, never again. Words within a message are
 * the affair of `term.ts`.
 */

/** Texts between the wildcards of a pattern: one more than there are wildcards. */
export type Segments = readonly [string, ...string[]];

/** Cuts at each `*`. Behind a backslash `*`, `"` and a backslash stand for themselves; any other backslash stands for itself. */
export function cutAtWildcards(written: string): Segments {
  const segments: [string, ...string[]] = [''];
  for (const [piece] of written.matchAll(/\\[\\"*]|[\s\S]/g)) {
    if (piece === '*') segments.push('');
    else segments.push(`${segments.pop()}${piece.slice(-1)}`);
  }
  return segments;
}

/** The same text where no `*` is a wildcard. */
export function withoutWildcards(written: string): string {
  return cutAtWildcards(written).join('*');
}

/** The source of a regular expression, with the flag `u`, that matches this text. */
export function literalSource(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Whether a whole value fits the segments with anything between them. */
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

/** Where the last of the patterns ends when each stands behind the one before; Infinity where they do not. */
function standInTurn(patterns: readonly RegExp[], value: string, from: number): number {
  let at = from;
  for (const pattern of patterns) {
    pattern.lastIndex = at;
    if (!pattern.test(value)) return Number.POSITIVE_INFINITY;
    at = pattern.lastIndex;
  }
  return at;
}
