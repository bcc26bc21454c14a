/** Parses and renders JSON without rounding integers. JavaScript numbers would round 64-bit ids. */

/** Parses JSON. Returns integers beyond 2^53 as bigint. Throws SyntaxError if the JSON is invalid. */
export function parseLosslessJson(text: string): unknown {
  return JSON.parse(text, keepWhole as (key: string, value: unknown) => unknown);
}

function keepWhole(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const { source } = context;
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/** Returns the decimal digits of a positive 64-bit integer, or undefined for other values. */
export function decimalId(value: unknown): string | undefined {
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  return typeof text === 'string' && /^[1-9]\d{0,18}$/.test(text) ? text : undefined;
}

const maxShownCharacters = 60;

/** Renders a value from `parseLosslessJson` for an error message, and shortens long text. */
export function shownJson(value: unknown): string {
  const text = typeof value === 'bigint' ? String(value) : JSON.stringify(value, bigintAsText);
  return text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters - 3)}...` : text;
}

/** Renders bigint values as strings. */
function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
