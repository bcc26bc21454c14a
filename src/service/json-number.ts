/** State machine for JSON numbers (RFC 8259, 6), byte by byte, so that it can pause anywhere: `-0.5e+10`. */
import { char } from '../base/json-bytes.ts';

/** State after the bytes so far, by the grammar `- 0 | 1-9 digits . digits e ± digits`. */
export const numberState = {
  minus: 0,
  zero: 1,
  integer: 2,
  point: 3,
  fraction: 4,
  exponent: 5,
  exponentSign: 6,
  exponentDigits: 7,
} as const;

/** State after the first byte of a number, or -1 if no number begins with it. */
export function startNumber(byte: number): number {
  if (byte === char.minus) return numberState.minus;
  if (byte === char.zero) return numberState.zero;
  return isDigit(byte) ? numberState.integer : -1;
}

/** State after one more byte, or -1 if the byte does not belong to the number. */
export function continueNumber(state: number, byte: number): number {
  switch (state) {
    case numberState.minus:
      return byte === char.minus ? -1 : startNumber(byte);
    case numberState.zero:
      return afterInteger(byte);
    case numberState.integer:
      return isDigit(byte) ? numberState.integer : afterInteger(byte);
    case numberState.point:
      return isDigit(byte) ? numberState.fraction : -1;
    case numberState.fraction:
      if (isDigit(byte)) return numberState.fraction;
      return isExponent(byte) ? numberState.exponent : -1;
    case numberState.exponent:
      if (byte === char.plus || byte === char.minus) return numberState.exponentSign;
      return isDigit(byte) ? numberState.exponentDigits : -1;
    default:
      return isDigit(byte) ? numberState.exponentDigits : -1;
  }
}

/** Whether a number can end in this state. */
export function isWholeNumber(state: number): boolean {
  switch (state) {
    case numberState.zero:
    case numberState.integer:
    case numberState.fraction:
    case numberState.exponentDigits:
      return true;
    default:
      return false;
  }
}

function afterInteger(byte: number): number {
  if (byte === char.point) return numberState.point;
  return isExponent(byte) ? numberState.exponent : -1;
}

function isDigit(byte: number): boolean {
  return byte >= char.zero && byte <= char.nine;
}

function isExponent(byte: number): boolean {
  return (byte | 0x20) === char.e;
}
