/** Returns a version 4 UUID with 122 random bits, the form that an API server uses. */
import type { Random } from '../../base/random.ts';

export function createUid(random: Random): string {
  const digits = Array.from({ length: 32 }, () => Math.floor(random.next() * 16).toString(16));
  digits[12] = '4';
  digits[16] = (8 + Math.floor(random.next() * 4)).toString(16);
  const text = digits.join('');
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
}
