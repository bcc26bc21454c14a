/** Random numbers that depend only on a seed and on names. Therefore, all runs of a scenario have the same failures. */

/** Returns a pseudorandom number in [0, 1) that depends only on `seed` and `words`. */
export function drawFor(seed: number, ...words: readonly (string | number)[]): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (const word of words) {
    const text = `${word}|`;
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) >>> 0;
  return ((hash ^ (hash >>> 16)) >>> 0) / 4294967296;
}
