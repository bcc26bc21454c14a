/**
 * Ids of search jobs: 16 hexadecimal digits that look random, computed from a counter. The counter can be computed from the id, so
 * the service recognizes the id of a former job without storing it.
 */

const mask = 2n ** 64n - 1n;
/**
 * Factor by which the counter is multiplied to make the id. The factor must be odd, so that the counter can be computed from the
 * id.
 */
const factor = 0x9e3779b97f4a7c15n;
const inverse = inverseOf(factor);

/** Returns the id of a job. `number` counts from 0. */
export function jobIdOf(number: number, seed: number): string {
  const mixed = ((BigInt(number) + shiftOf(seed)) * factor) & mask;
  return mixed.toString(16).toUpperCase().padStart(16, '0');
}

/**
 * Returns the counter from which a job id was made, or undefined for an impossible id. A job with the id need not have existed.
 */
export function jobNumberOf(id: string, seed: number): number | undefined {
  if (!/^[0-9A-F]{16}$/.test(id)) return undefined;
  const number = (BigInt(`0x${id}`) * inverse - shiftOf(seed)) & mask;
  return number <= Number.MAX_SAFE_INTEGER ? Number(number) : undefined;
}

/** Returns an offset that is added to the counter. Without the offset, the ids of the first jobs would reveal the factor. */
function shiftOf(seed: number): bigint {
  return (BigInt(seed) * 0x5851f42d4c957f2dn + 0x14057b7ef767814fn) & mask;
}

/** Returns the inverse of a number modulo 2^64, by Newton's method. Each step doubles the number of correct bits. */
function inverseOf(odd: bigint): bigint {
  let found = odd;
  for (let step = 0; step < 6; step++) found = (found * (2n - odd * found)) & mask;
  return found;
}
