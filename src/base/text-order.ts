/** Sorts texts by their UTF-16 code units, so that the order does not depend on a locale. */

/**
 * Compares two texts by their code units. Returns a negative number if `left` comes first, a
 * positive number if `right` does, and 0 if both are equal.
 */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
