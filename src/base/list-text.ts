/** Joins texts with commas and `and`: `a`, `a and b`, `a, b and c`. */
export function listText(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;
}
