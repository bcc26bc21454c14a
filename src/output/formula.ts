/**
 * What a spreadsheet takes for a formula when it opens a CSV file: cells that begin with = + - @, a tab or a line break, also in their
 * full-width forms, as OWASP lists them ("CSV Injection"). Logs hold what strangers sent, and a formula of theirs would run with the
 * rights of who opens the file.
 *
 * A number is none, be there a sign in front of it: ids are negative half of the time, and of no use with a quote.
 */
import { char } from '../base/json-bytes.ts';

/** Whether the cell from `start` to `end` begins as a formula does. */
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

/** The bytes of ＋ － ＝ ＠. */
const fullWidth = { first: 0xef, second: 0xbc, third: [0x8b, 0x8d, 0x9d, 0xa0] as readonly number[] } as const;

/** Digits with a point and an exponent where they have one, the sign before them left out. */
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
