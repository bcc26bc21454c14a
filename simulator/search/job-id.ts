/**
 * Computes search job ids of 16 hexadecimal digits from a counter. An id can be converted back to its counter value, so
 * the service recognizes earlier ids without storing them.
 */

const mask = 2n ** 64n - 1n;
/** Factor that makes ids look random. An id can be converted back to its counter value only if this factor is odd. */
const factor = 0x9e3779b97f4a7c15n;
const inverse = inverseOf(factor);

/** Returns the id of a job. `number` is counted from 0. */
export function jobIdOf(number: number, seed: number): string {
  const mixed = ((BigInt(number) + shiftOf(seed)) * factor) & mask;
  return mixed.toString(16).toUpperCase().padStart(16, '0');
}

/**
 * Returns the number of the search job with the given id. A job with this id may not exist. Returns undefined if no job
 * can ever have this id.
 */
export function jobNumberOf(id: string, seed: number): number | undefined {
  if (!/^[0-9A-F]{16}$/.test(id)) return undefined;
  const number = (BigInt(`0x${id}`) * inverse - shiftOf(seed)) & mask;
  return number <= Number.MAX_SAFE_INTEGER ? Number(number) : undefined;
}

/** Returns an offset for the search job counter. Without the offset, the first ids would not look random. */
function shiftOf(seed: number): bigint {
  return (BigInt(seed) * 0x5851f42d4c957f2dn + 0x14057b7ef767814fn) & mask;
}

/** Returns the inverse of an odd number modulo 2^64, computed by Newton's method. */
function inverseOf(odd: bigint): bigint {
  let found = odd;
  for (let step = 0; step < 6; step++) found = (found * (2n - odd * found)) & mask;
  return found;
}
