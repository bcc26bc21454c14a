/**
 * Field values, and how queries read them as numbers. Integers of any length are exact, and other numbers are doubles.
 */

/** Value of a field. A text that is a safe integer may be stored as a number: `5` and `"5"` are the same value. */
export type FieldValue = string | number;

/** A number in a field. Integers beyond 2^53 have the type bigint. */
export type Numeric = number | bigint;

const integerForm = /^-?\d+$/;
const decimalForm = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const digitZero = 0x30;
const digitNine = 0x39;
/** Maximum number of digits of a number that is always exact in JavaScript. */
const safeLength = 15;
/** Maximum length of a number in characters. A longer number counts as a text, because parsing it would be slow. */
const maxDigits = 1_000;

/** Converts a number to a field value. A safe integer remains a number, and any other number becomes a text. */
export function fieldValue(number: Numeric): FieldValue {
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : String(number);
}

/** Reads a finite decimal number. Returns undefined for other values. */
export function numericOf(value: FieldValue): Numeric | undefined {
  return typeof value === 'number' ? value : parseNumeric(value);
}

/** Parses a finite decimal number. Returns undefined for other texts. */
export function parseNumeric(text: string): Numeric | undefined {
  // Short integers are the most frequent texts. For them, this check is faster than the regular expressions below.
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

/** Returns whether a text is an integer with so few digits that JavaScript represents it exactly. */
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

/** Compares two texts by code units, independently of the machine's locale. */
export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Sort key of a field value: first empty values, then numbers, then texts. */
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

/** Compares two field values for sorting. Numbers with equal values, such as `1` and `1.0`, are compared as texts. */
export function compareRanks(left: Rank, right: Rank): number {
  return left.kind - right.kind || compareNumerics(left.number, right.number) || compareTexts(left.text, right.text);
}
