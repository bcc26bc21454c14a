/**
 * What the text of a value says in a column of numbers, times or truth values. The service writes all of them as strings (2.5), `""`
 * where there is none, and computed integers also as `1.788E12` (10.3).
 *
 * Invariant: a value is the number that the text says, to the last digit, or the text is a misfit, which its row keeps beside.
 */

/** Of a misfit, too, there may be a value: the nearest one. */
export interface TypedValue<T> {
  readonly value: T | null;
  readonly fits: boolean;
}

const nothing = { value: null, fits: true } as const;
const misfit = { value: null, fits: false } as const;

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
  // Digits behind the point that a double rounds away would make an integer of what is none.
  return Number.isSafeInteger(value) && digitsOf(text).length <= surelyKept
    ? { value: BigInt(value), fits: true }
    : misfit;
}

/** From the year 1 to the year 9999 in milliseconds, as far as all readers go. */
const earliestMs = -62_135_596_800_000n;
const latestMs = 253_402_300_799_999n;

export function instantOf(text: string): TypedValue<bigint> {
  const { value, fits } = integerOf(text);
  return value !== null && (value < earliestMs || value > latestMs) ? misfit : { value, fits };
}

/** So many digits any double keeps. */
const surelyKept = 15;
/** With so many digits a double is written; what has more was no double. */
const mostWritten = 17;
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

/** Whether the double still has all digits of the text. */
function isKept(text: string, value: number): boolean {
  const digits = digitsOf(text);
  if (digits === '' || value === 0) return digits === '';
  return digits.length <= mostWritten && digitsOf(value.toExponential(digits.length - 1)) === digits;
}

/** The significant ones. */
function digitsOf(text: string): string {
  const [mantissa = ''] = text.split(/[eE]/);
  return mantissa.replace('.', '').replace(/^-?0*/, '').replace(/0+$/, '');
}
