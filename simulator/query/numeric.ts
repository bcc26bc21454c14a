/**
 * Field values, and how queries read them as numbers. Integers are exact at any length, and other numbers are doubles.
 *
 * Every value is a text (service.md 2.5). A text that is a safe integer may be stored as a number, which saves time.
 */

/**
 * Value of a field: a text, or a safe integer in place of its text. `5` and `"5"` are the same value, so a value must be
 * converted by `String` before it is compared or stored as a text.
 */
export type FieldValue = string | number;

/** A number in a field. Integers beyond 2^53 are bigint, which JavaScript compares exactly with other numbers. */
export type Numeric = number | bigint;

const integerForm = /^-?\d+$/;
const decimalForm = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const digitZero = 0x30;
const digitNine = 0x39;
/** Maximum number of digits with which any integer is exact as a JavaScript number. */
const safeLength = 15;
/** Maximum number of characters of a number. Longer numbers are treated as texts, because parsing a very long bigint is slow. */
const maxDigits = 1_000;

/** Returns a number as a field value. Numbers that are not safe integers become texts. */
export function fieldValue(number: Numeric): FieldValue {
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : String(number);
}

/** Reads a field value as a finite decimal number. Returns undefined for any other text. */
export function numericOf(value: FieldValue): Numeric | undefined {
  return typeof value === 'number' ? value : parseNumeric(value);
}

/** Parses a finite decimal number. Returns undefined for any other text. */
export function parseNumeric(text: string): Numeric | undefined {
  // Most values are short positive integers, for which this test is several times faster than a regular expression.
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

/** Returns whether a text has only digits, and so few that its value is exact as a JavaScript number. */
function isShortInteger(text: string): boolean {
  if (text.length === 0 || text.length > safeLength) return false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < digitZero || code > digitNine) return false;
  }
  return true;
}

/** Compares two numbers. The result is below, equal to or above 0. */
export function compareNumerics(left: Numeric, right: Numeric): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Compares two texts by code units, so the result is the same on every machine. */
export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Sort key of a field value: empty values come first, then numbers, then texts. */
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
 * Compares two field values for sorting. Equal numbers in different notations are ordered as texts, so only identical values are
 * equal.
 */
export function compareRanks(left: Rank, right: Rank): number {
  return left.kind - right.kind || compareNumerics(left.number, right.number) || compareTexts(left.text, right.text);
}
