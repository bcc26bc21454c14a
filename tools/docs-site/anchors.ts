/** Returns the id of a heading on a page, as GitHub makes it: lower case, without punctuation, with hyphens for blanks. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}
