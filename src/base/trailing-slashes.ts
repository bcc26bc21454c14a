/** Removes all slashes at the end of a URL or a path. */
export function withoutTrailingSlashes(text: string): string {
  // Because of the lookbehind, the pattern tries each run of slashes only once. The time is therefore linear in the
  // length of the text.
  return text.replace(/(?<!\/)\/+$/, '');
}
