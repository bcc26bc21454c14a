/**
 * Warnings of the service without the notice about cookies that it puts into every one of them (2.2, 10.2): what is left is news.
 *
 * The notice is known by the creation of the job, which carries it by specification: the same text in a later answer is no news,
 * in whatever words or language it stands. Beyond that a sentence is taken for it that speaks of a cookie *and* of what comes without
 * (a 404, a request that is not found), so that a warning about a field named `cookie` is not lost.
 */

/** The end of a sentence, and the space behind it. */
const sentenceEnd = /(?<=[.!?;])\s+|\n+/;
const aboutCookies = /\bcookies?\b/i;
const aboutMissing = /\b404\b|\bnot[ -]?found\b/i;

/** The warning without sentences that are the notice; undefined where nothing is left. */
export function withoutCookieNotice(warning: string | undefined): string | undefined {
  if (warning === undefined) return undefined;
  const news = warning
    .split(sentenceEnd)
    .filter((sentence) => !(aboutCookies.test(sentence) && aboutMissing.test(sentence)));
  return news.join(' ').trim() || undefined;
}

/** Anything shorter is no notice, and might stand in other texts by chance. */
const shortestNotice = 16;

/** What a later answer of the job warns of beyond what its creation said, `known`. */
export function newsOf(warning: string | undefined, known = ''): string | undefined {
  const said = known.trim();
  return withoutCookieNotice(said.length < shortestNotice ? warning : warning?.replaceAll(said, ' '));
}
