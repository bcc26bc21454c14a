/** Removes all slashes at the end of a URL or a path. */
export function withoutTrailingSlashes(text: string): string {
  // The lookbehind tries each run of slashes once, so that the time is proportional to the length of the text.
  return text.replace(/(?<!\/)\/+$/, '');
}
