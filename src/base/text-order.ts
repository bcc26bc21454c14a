/** Sorts texts by UTF-16 code units, so that the order does not depend on the locale. */

/** Compares two texts for sorting. Returns a negative number if `left` comes first. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
