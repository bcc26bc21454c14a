/**
 * Reads field values as numbers. Integers are exact at any length, and other numbers are doubles. All values are stored as
 * texts (service.md 2.5).
 */

/** A number in a field. Integers beyond 2^53 are bigint, which JavaScript compares exactly with other numbers. */
export type Numeric = number | bigint;

const integerForm = /^-?\d+$/;
const decimalForm = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
/** Maximum number of digits with which any integer is exact as a JavaScript number. */
const safeLength = 15;
/** Maximum number of characters of a number. Longer numbers are treated as texts, because parsing a very long bigint is slow. */
const maxDigits = 1_000;

/** Parses a finite decimal number, with blanks around it. Returns undefined for any other text. */
export function parseNumeric(text: string): Numeric | undefined {
  if (integerForm.test(text)) {
    if (text.length > maxDigits) return undefined;
    const value = Number(text);
    return text.length <= safeLength || Number.isSafeInteger(value) ? value : BigInt(text);
  }
  if (!decimalForm.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
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
