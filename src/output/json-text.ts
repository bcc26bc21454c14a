/**
 * Finds the ends of JSON values, and reads JSON strings. The text must be valid JSON, because these functions do not
 * check the syntax.
 */
import { isUtf8 } from 'node:buffer';
import { char, plainEnd } from '../base/json-bytes.ts';

/**
 * Replaces line breaks in JSON text with spaces. No value changes, because a valid JSON string contains no unescaped
 * line breaks.
 */
export function withoutLineBreaks(text: Uint8Array): Uint8Array {
  if (text.indexOf(char.lineFeed) < 0) return text;
  return text.map((byte) => (byte === char.lineFeed || byte === char.carriageReturn ? char.space : byte));
}

/** Returns the index after the closing quote of a JSON string. `from` is the index after the opening quote. */
export function afterString(bytes: Uint8Array, view: DataView, from: number, end: number): number {
  let at = plainEnd(bytes, view, from, end);
  while (bytes[at] === char.backslash) at = plainEnd(bytes, view, at + 2, end);
  return at + 1;
}

/** Returns the index after the object or array that begins at `from`. */
export function nestedEnd(bytes: Uint8Array, view: DataView, from: number, end: number): number {
  let depth = 0;
  let at = from;
  do {
    const byte = bytes[at++];
    if (byte === char.objectStart || byte === char.arrayStart) depth++;
    else if (byte === char.objectEnd || byte === char.arrayEnd) depth--;
    else if (byte === char.quote) at = afterString(bytes, view, at, end);
  } while (depth > 0);
  return at;
}

/** Replaces invalid UTF-8 with U+FFFD, because a single invalid byte would make readers reject the whole file. */
export function validText(text: Uint8Array): Uint8Array {
  return isUtf8(text) ? text : Buffer.from(new TextDecoder().decode(text));
}

/** Returns the index after the number, `true`, `false` or `null` that begins at `from`. */
export function wordEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at] as number;
    if (byte <= char.space || byte === char.comma || byte === char.objectEnd || byte === char.arrayEnd) return at;
    at++;
  }
}

/** Returns the index of the first byte at or after `from` that is not whitespace. */
export function tokenStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while ((bytes[at] as number) <= char.space) at++;
  return at;
}

/**
 * Copies bytes, and returns the index after the copy. Short values are copied in a loop, which is faster than
 * `Buffer.copy`.
 */
export function copyBytes(target: Buffer, at: number, source: Buffer, from: number, to: number): number {
  if (to - from > maxCopiedByLoop) return at + source.copy(target, at, from, to);
  let end = at;
  for (let each = from; each < to; each++) target[end++] = source[each] as number;
  return end;
}

const maxCopiedByLoop = 48;

/**
 * Decodes the content of a JSON string, and writes it to `target` as UTF-8. Returns the index after the written text.
 */
export function writeText(target: Buffer, at: number, bytes: Buffer, view: DataView, from: number, to: number): number {
  let end = at;
  let next = from;
  while (next < to) {
    // The closing quote is part of the range that `plainEnd` searches, so the search stops at this quote at the latest.
    const plain = plainEnd(bytes, view, next, to + 1);
    end = copyBytes(target, end, bytes, next, plain);
    if (plain >= to) break;
    const letter = bytes[plain + 1] as number;
    if (letter === char.u) return end + target.write(JSON.parse(`"${bytes.toString('utf8', plain, to + 1)}`), end);
    target[end++] = meaningOf[letter] as number;
    next = plain + 2;
  }
  return end;
}

/** The character that each short JSON escape represents, keyed by the byte after the backslash. */
const meaningOf = new Uint8Array(128);
for (const [letter, meaning] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
  meaningOf[(letter as string).charCodeAt(0)] = (meaning as string).charCodeAt(0);
}
