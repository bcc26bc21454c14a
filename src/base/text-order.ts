/** Sorts texts by UTF-16 code units, regardless of the locale. */

/** Compares two texts for sorting. Returns a negative number if `left` comes first. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
