/** Returns the known name that is most similar to `written`, or undefined if `written` does not look like a typo. */
export function nearest(written: string, known: readonly string[]): string | undefined {
  const rated = known.map((name) => ({ name, distance: editDistance(written, name) }));
  const [best] = rated.sort((left, right) => left.distance - right.distance);
  const isSimilar = best !== undefined && best.distance <= Math.floor(Math.max(written.length, 3) / 3);
  return isSimilar ? best.name : undefined;
}

/**
 * Returns `did you mean NAME?` if a known name is similar to `written`. If no name is similar, returns the text
 * `otherwise`.
 */
export function suggestion(written: string, known: readonly string[], otherwise: string): string {
  const meant = nearest(written, known);
  return meant === undefined ? otherwise : `did you mean ${meant}?`;
}

/**
 * Maximum number of wrong letters in a misspelt name. It is less than 4, because `ServiceExport` differs from
 * `SearchExport` by 4 letters, but is not a misspelling of `SearchExport`.
 */
const longestDistance = 3;

/** Reports whether `written` and `name` differ by at most `longestDistance` letters. Case is ignored. */
export function resembles(written: string, name: string): boolean {
  if (Math.abs(written.length - name.length) > longestDistance) return false;
  return editDistance(written, name) <= longestDistance;
}

/**
 * Maximum length in characters of a text that is compared with known names. A longer text is not similar to any name.
 */
const longestCompared = 64;

/**
 * Returns the edit distance between two texts: the number of letters to change, add, remove or swap. Case is ignored.
 */
function editDistance(leftText: string, rightText: string): number {
  const [left, right] = [leftText.toLowerCase(), rightText.toLowerCase()];
  if (left.length > longestCompared || right.length > longestCompared) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = at(row, j - 1) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swapped = isSwapped ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(replaced, at(row, j) + 1, at(next, j - 1) + 1, swapped));
    }
    before = row;
    row = next;
  }
  return at(row, right.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
