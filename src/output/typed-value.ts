/**
 * Parses values for columns with a type. The service writes all values as strings, and some integers in a form such as
 * `1.788E12` (sections 2.5 and 10.3 of docs/service.md). A value that the type cannot represent exactly is stored in
 * the extra column.
 */

/** Parsed text. `fits` is false if the type cannot represent the text exactly. */
export interface TypedValue<T> {
  readonly value: T | null;
  readonly fits: boolean;
}

const nothing = { value: null, fits: true } as const;
export const misfit = { value: null, fits: false } as const;

const integerForm = /^-?\d{1,19}$/;
const numberForm = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,4})?$/;
const smallest = -(2n ** 63n);
const largest = 2n ** 63n - 1n;

export function integerOf(text: string): TypedValue<bigint> {
  if (text === '') return nothing;
  if (integerForm.test(text)) {
    const value = BigInt(text);
    return value >= smallest && value <= largest ? { value, fits: true } : misfit;
  }
  const value = numberForm.test(text) ? Number(text) : Number.NaN;
  // A number with more than `exactDigits` digits is rejected, because parsing it may have dropped its fraction.
  return Number.isSafeInteger(value) && digitsOf(text).length <= exactDigits
    ? { value: BigInt(value), fits: true }
    : misfit;
}

/** First and last millisecond of the years 1 to 9999. All readers support these years. */
const earliestMs = -62_135_596_800_000n;
const latestMs = 253_402_300_799_999n;

export function instantOf(text: string): TypedValue<bigint> {
  const { value, fits } = integerOf(text);
  return value !== null && (value < earliestMs || value > latestMs) ? misfit : { value, fits };
}

/** Number of significant decimal digits that a double always preserves. */
const exactDigits = 15;
/** Maximum number of significant digits that are needed to write any double exactly. */
const maxDoubleDigits = 17;
const specials: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

export function decimalOf(text: string): TypedValue<number> {
  if (text === '') return nothing;
  const special = specials.get(text);
  if (special !== undefined) return { value: special, fits: true };
  const value = numberForm.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) return misfit;
  return { value, fits: isKept(text, value) };
}

export function truthOf(text: string): TypedValue<boolean> {
  if (text === '') return nothing;
  const value = text.toLowerCase();
  return value === 'true' || value === 'false' ? { value: value === 'true', fits: true } : misfit;
}

/** Reports whether the double `value` preserves all significant digits of `text`. */
function isKept(text: string, value: number): boolean {
  const digits = digitsOf(text);
  if (digits === '' || value === 0) return digits === '';
  return digits.length <= maxDoubleDigits && digitsOf(value.toExponential(digits.length - 1)) === digits;
}

/** Returns the significant digits of a number, for example `12` for `-0.0120`. */
function digitsOf(text: string): string {
  const [mantissa = ''] = text.split(/[eE]/);
  // Because of the lookbehind, the pattern tries each run of zeros only once. Therefore, the time is proportional to
  // the length of the text.
  return mantissa
    .replace('.', '')
    .replace(/^-?0*/, '')
    .replace(/(?<!0)0+$/, '');
}
