/**
 * Removes the notice about cookies that the service adds to every warning (2.2, 10.2), so that only new warnings remain.
 *
 * The notice is known from the answer to the job's creation: the same text in a later answer is removed in any language. In
 * addition, a sentence counts as notice if it mentions a cookie and a missing request or a 404. A warning about a field named
 * `cookie` is kept.
 */

/** End of a sentence, including the whitespace after it. */
const sentenceEnd = /(?<=[.!?;])\s+|\n+/;
const aboutCookies = /\bcookies?\b/i;
const aboutMissing = /\b404\b|\bnot[ -]?found\b/i;

/** Removes sentences of the notice. Returns undefined if nothing is left. */
export function withoutCookieNotice(warning: string | undefined): string | undefined {
  if (warning === undefined) return undefined;
  const news = warning
    .split(sentenceEnd)
    .filter((sentence) => !(aboutCookies.test(sentence) && aboutMissing.test(sentence)));
  return news.join(' ').trim() || undefined;
}

/** Minimum length of a notice. Shorter texts could occur in other warnings by chance. */
const shortestNotice = 16;

/** Returns the part of a later warning that the creation's warning, `known`, does not contain. */
export function newsOf(warning: string | undefined, known = ''): string | undefined {
  const said = known.trim();
  return withoutCookieNotice(said.length < shortestNotice ? warning : warning?.replaceAll(said, ' '));
}
