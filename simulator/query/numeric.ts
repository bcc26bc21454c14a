/** Field values, and how queries read them as numbers. Integers of any length are exact. Other numbers are doubles. */

/**
 * Value of a field. A string that represents a safe integer, such as `"5"`, may also be stored as a number: `5` and
 * `"5"` are the same value.
 */
export type ScalarValue = string | number;

/** A number in a field. Integers beyond 2^53 have the type bigint. */
export type Numeric = number | bigint;

const integerForm = /^-?\d+$/;
const decimalForm = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const digitZero = 0x30;
const digitNine = 0x39;
/** JavaScript numbers represent all integers with at most this number of digits exactly. */
const safeLength = 15;
/** Maximum length of a number in characters. A longer number is treated as text, because parsing it would be slow. */
const maxDigits = 1_000;

/** Converts a number to a field value. A safe integer remains a number, and any other number becomes a string. */
export function fieldValue(number: Numeric): ScalarValue {
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : String(number);
}

/** Reads a value as a finite decimal number. Returns undefined for any other value. */
export function numericOf(value: ScalarValue): Numeric | undefined {
  return typeof value === 'number' ? value : parseNumeric(value);
}

/** Parses a finite decimal number. Returns undefined for any other text. */
export function parseNumeric(text: string): Numeric | undefined {
  // Most texts are short integers, for which this check is faster than the regular expressions below.
  if (isShortInteger(text)) return Number(text);
  if (integerForm.test(text)) {
    if (text.length > maxDigits) return undefined;
    const value = Number(text);
    return Number.isSafeInteger(value) ? value : BigInt(text);
  }
  if (!decimalForm.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Reports whether a string is an integer that is short enough for JavaScript to represent exactly. */
function isShortInteger(text: string): boolean {
  if (text.length === 0 || text.length > safeLength) return false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < digitZero || code > digitNine) return false;
  }
  return true;
}

/** Compares two numbers. The result is negative, 0 or positive. */
export function compareNumerics(left: Numeric, right: Numeric): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Compares two strings by code units, independently of the locale. */
export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Sort key of a field value. It sorts empty values first, then numbers, and then text. */
export interface Rank {
  readonly kind: 0 | 1 | 2;
  readonly number: Numeric;
  readonly text: string;
}

export function rankOf(text: string): Rank {
  const number = parseNumeric(text);
  if (number !== undefined) return { kind: 1, number, text };
  return { kind: text === '' ? 0 : 2, number: 0, text };
}

/**
 * Compares two field values for sorting. Equal numbers that are written differently, such as `1` and `1.0`, are
 * compared as text.
 */
export function compareRanks(left: Rank, right: Rank): number {
  return left.kind - right.kind || compareNumerics(left.number, right.number) || compareTexts(left.text, right.text);
}
