/** Values as numbers: integers stay whole however long they are, everything else is a double. Values are texts, also those of numbers (2.5). */

/** Integers past 2^53 are bigint; `<` and `>` compare both kinds exactly. */
export type Numeric = number | bigint;

const integerForm = /^-?\d+$/;
const decimalForm = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
/** So many characters are a safe integer in any case. */
const safeLength = 15;
/** Longer ones are taken for texts: making a bigint takes more than linear time. */
const mostDigits = 1_000;

/** Undefined for what is no finite decimal number, blanks around one included. */
export function parseNumeric(text: string): Numeric | undefined {
  if (integerForm.test(text)) {
    if (text.length > mostDigits) return undefined;
    const value = Number(text);
    return text.length <= safeLength || Number.isSafeInteger(value) ? value : BigInt(text);
  }
  if (!decimalForm.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Below 0, 0 or above. */
export function compareNumerics(left: Numeric, right: Numeric): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** By code units: the same everywhere, whatever the language of the machine. */
export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A value made ready for sorting: nothing before numbers, numbers before texts. */
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

/** A total order: numbers that are written differently stay in the order of their texts. */
export function compareRanks(left: Rank, right: Rank): number {
  return left.kind - right.kind || compareNumerics(left.number, right.number) || compareTexts(left.text, right.text);
}
