/**
 * Detects cells that a spreadsheet treats as formulas in a CSV file: cells that begin with = + - @, a tab or a line break, also in
 * full-width form, as listed by OWASP ("CSV Injection"). Logs contain untrusted text, and a formula in it would run with the rights
 * of the person who opens the file.
 *
 * Numbers with a sign are not formulas. Ids are often negative, and an apostrophe would make them useless.
 */
import { char } from '../base/json-bytes.ts';

/** Whether the cell from `start` to `end` begins like a formula. */
export function isFormula(bytes: Uint8Array, start: number, end: number): boolean {
  switch (bytes[start]) {
    case char.equals:
    case char.at:
    case char.tab:
    case char.lineFeed:
    case char.carriageReturn:
      return start < end;
    case char.plus:
    case char.minus:
      return start < end && !isNumber(bytes, start + 1, end);
    case fullWidth.first:
      return (
        end - start >= 3 &&
        bytes[start + 1] === fullWidth.second &&
        fullWidth.third.includes(bytes[start + 2] as number)
      );
    default:
      return false;
  }
}

/** UTF-8 bytes of ＋ － ＝ ＠. */
const fullWidth = { first: 0xef, second: 0xbc, third: [0x8b, 0x8d, 0x9d, 0xa0] as readonly number[] } as const;

/** Whether the text after the sign is a number: digits with an optional fraction and exponent. */
function isNumber(bytes: Uint8Array, start: number, end: number): boolean {
  let at = digitsEnd(bytes, start, end);
  if (at === start) return false;
  if (at < end && bytes[at] === char.point) {
    const fraction = at + 1;
    at = digitsEnd(bytes, fraction, end);
    if (at === fraction) return false;
  }
  if (at < end && ((bytes[at] as number) | 0x20) === char.e) {
    const sign = bytes[at + 1] === char.plus || bytes[at + 1] === char.minus ? 1 : 0;
    const exponent = at + 1 + sign;
    at = digitsEnd(bytes, exponent, end);
    if (at === exponent) return false;
  }
  return at === end;
}

function digitsEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) >= char.zero && (bytes[at] as number) <= char.nine) at++;
  return at;
}
