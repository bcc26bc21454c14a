/**
 * Interface for random numbers. The operator uses `systemRandom`, and repeatable runs use a seeded
 * generator.
 */

export interface Random {
  /** Returns a random number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
}

export const systemRandom: Random = { next: () => Math.random() };

/**
 * Returns a random number generator (mulberry32) that produces the same numbers for the same seed
 * on every machine.
 */
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
