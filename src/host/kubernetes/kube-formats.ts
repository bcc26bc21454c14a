/** Text formats of the Kubernetes API. */
import type { Random } from '../../base/random.ts';

/** Renders a `MicroTime`: RFC 3339 with six decimals, required in Leases and Events. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z');
}

/** Returns `digits` random hexadecimal digits for unique names. */
export function randomHex(random: Random, digits: number): string {
  let text = '';
  while (text.length < digits) {
    text += Math.floor(random.next() * 0x10000)
      .toString(16)
      .padStart(4, '0');
  }
  return text.slice(0, digits);
}
