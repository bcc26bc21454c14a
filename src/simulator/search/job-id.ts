/**
 * Ids of search jobs: 16 hexadecimal digits that look like chance, from a number that counts jobs. The number can be had back, so
 * that a job that was is told from one that never was without remembering any.
 */

const mask = 2n ** 64n - 1n;
/** Odd, so that multiplying by it loses nothing. */
const factor = 0x9e3779b97f4a7c15n;
const inverse = inverseOf(factor);

/** `number` counts from 0. */
export function jobIdOf(number: number, seed: number): string {
  const mixed = ((BigInt(number) + shiftOf(seed)) * factor) & mask;
  return mixed.toString(16).toUpperCase().padStart(16, '0');
}

/** The number that gave this id; undefined where it cannot be one. Whether there has been such a job is not known here. */
export function jobNumberOf(id: string, seed: number): number | undefined {
  if (!/^[0-9A-F]{16}$/.test(id)) return undefined;
  const number = (BigInt(`0x${id}`) * inverse - shiftOf(seed)) & mask;
  return number <= Number.MAX_SAFE_INTEGER ? Number(number) : undefined;
}

/** Keeps the first ids from being small multiples of the factor. */
function shiftOf(seed: number): bigint {
  return (BigInt(seed) * 0x5851f42d4c957f2dn + 0x14057b7ef767814fn) & mask;
}

/** Modulo 2^64, by Newton's method: each step doubles the bits that are right. */
function inverseOf(odd: bigint): bigint {
  let found = odd;
  for (let step = 0; step < 6; step++) found = (found * (2n - odd * found)) & mask;
  return found;
}
