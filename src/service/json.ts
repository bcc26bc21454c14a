/**
 * JSON whose integers stay whole. Ids of the service have 64 bits, doubles hold 53: an integer of 16 digits or more becomes a
 * string of its digits, everything else is what JSON.parse makes of it.
 *
 * A reviver that looks at every value costs five times a plain parse, and a large listing is full of such ids. So the digits are put in
 * quotes first. That is safe: where the pattern stands inside a string, the added quote ends that string with a digit right
 * behind it, which no JSON allows, and the text is read again the slow way.
 */

const largeInteger = /([:,[]\s*)(-?[1-9]\d{15,})(?=\s*[,}\]])/g;
const largeIntegerForm = /^-?[1-9]\d{15,}$/;

interface ReviverContext {
  readonly source?: string;
}

type SourceReviver = (key: string, value: unknown, context: ReviverContext) => unknown;

const parseWithSource = JSON.parse as (text: string, reviver: SourceReviver) => unknown;

function keepWhole(_key: string, value: unknown, context: ReviverContext): unknown {
  const source = context.source;
  if (typeof value !== 'number' || source === undefined || !largeIntegerForm.test(source)) return value;
  // Through BigInt, because the source is a slice that would keep the text of the whole page alive.
  return BigInt(source).toString();
}

/** Throws a SyntaxError as JSON.parse does. */
export function parseJson(text: string): unknown {
  const quoted = text.replace(largeInteger, '$1"$2"');
  try {
    return JSON.parse(quoted);
  } catch {
    return parseWithSource(text, keepWhole);
  }
}
