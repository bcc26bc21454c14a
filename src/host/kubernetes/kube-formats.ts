/** Forms that the API server asks for and JavaScript does not have. */
import type { Random } from '../../base/random.ts';

/** A `MicroTime`: RFC 3339 with six decimals, which an API server demands of leases and events. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z');
}

/** `digits` hexadecimal digits, for names that nobody else will choose. */
export function randomHex(random: Random, digits: number): string {
  let text = '';
  while (text.length < digits) {
    text += Math.floor(random.next() * 0x10000)
      .toString(16)
      .padStart(4, '0');
  }
  return text.slice(0, digits);
}
