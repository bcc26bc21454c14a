/**
 * Reads field values as numbers. Integers are exact at any length, and other numbers are doubles. All values are stored as texts
 * (section 2.5).
 */

/** Value of a number. Integers beyond 2^53 are bigint. `<` and `>` compare both kinds exactly. */
export type Numeric = number | bigint;

const integerForm = /^-?\d+$/;
const decimalForm = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
/** Maximum number of digits up to which every integer is exact as a double. */
const safeLength = 15;
/** Maximum length of a number in characters. Longer numbers stay texts, because parsing a bigint takes more than linear time. */
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
