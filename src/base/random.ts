/** Interface for random numbers. Reproducible runs use a seeded generator. */

export interface Random {
  /** Returns a random number in [0, 1). */
  next(): number;
}

export const systemRandom: Random = { next: () => Math.random() };

/** Returns a random number generator (mulberry32). Generators with the same seed return the same numbers. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = state;
      mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    },
  };
}

/** Returns this number of random hexadecimal digits. */
export function randomHex(random: Random, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random.next() * 16).toString(16)).join('');
}

/** Returns a version 4 UUID, such as an API server assigns to a new object. */
export function createUid(random: Random): string {
  const variant = (8 + Math.floor(random.next() * 4)).toString(16);
  const [first, second, third, fourth, last] = [8, 4, 3, 3, 12].map((digits) => randomHex(random, digits));
  return `${first}-${second}-4${third}-${variant}${fourth}-${last}`;
}
