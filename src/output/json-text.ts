/**
 * Functions that find the end of a value in valid JSON text (RFC 8259), and that read the content of its strings. They are faster than a
 * parser, because they rely on an earlier validation of the text.
 */
import { isUtf8 } from 'node:buffer';
import { char, plainEnd } from '../base/json-bytes.ts';

/** Replaces line breaks by spaces. In valid JSON, line breaks occur only between tokens, never inside strings. */
export function withoutLineBreaks(text: Uint8Array): Uint8Array {
  if (text.indexOf(char.lineFeed) < 0) return text;
  return text.map((byte) => (byte === char.lineFeed || byte === char.carriageReturn ? char.space : byte));
}

/** Returns the index after the closing quote of the string whose text begins at `from`. */
export function stringEnd(bytes: Uint8Array, view: DataView, from: number, end: number): number {
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
    else if (byte === char.quote) at = stringEnd(bytes, view, at, end);
  } while (depth > 0);
  return at;
}

/** Replaces invalid UTF-8 by U+FFFD, since strict readers reject a whole file for one wrong byte. */
export function validText(text: Uint8Array): Uint8Array {
  return isUtf8(text) ? text : Buffer.from(new TextDecoder().decode(text));
}

/** Returns the index after the number, `true`, `false` or `null` that begins at `from`. More text must follow the value. */
export function wordEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at] as number;
    if (byte <= char.space || byte === char.comma || byte === char.objectEnd || byte === char.arrayEnd) return at;
    at++;
  }
}

/** Returns the index of the first byte from `from` on that is not whitespace. */
export function tokenStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while ((bytes[at] as number) <= char.space) at++;
  return at;
}

/** Copies bytes. For most values a loop is faster than `copy`. */
export function copyBytes(target: Buffer, at: number, source: Buffer, from: number, to: number): number {
  if (to - from > maxCopiedByLoop) return at + source.copy(target, at, from, to);
  let end = at;
  for (let each = from; each < to; each++) target[end++] = source[each] as number;
  return end;
}

const maxCopiedByLoop = 48;

/**
 * Writes the content of a JSON string as UTF-8 to the target, and returns the index after the written bytes. `from` and `to` exclude the
 * quotes of the string. The content is never longer than the string. Half a surrogate pair becomes U+FFFD.
 */
export function writeText(target: Buffer, at: number, bytes: Buffer, view: DataView, from: number, to: number): number {
  let end = at;
  let next = from;
  while (next < to) {
    // The search includes the closing quote at `to`, so that it always finds an end.
    const plain = plainEnd(bytes, view, next, to + 1);
    end = copyBytes(target, end, bytes, next, plain);
    next = plain;
    if (next >= to) break;
    const letter = bytes[next + 1] as number;
    if (letter !== char.u) {
      target[end++] = meaningOf[letter] as number;
      next += 2;
      continue;
    }
    let code = hexadecimal(bytes, next + 2);
    next += 6;
    if (isHighSurrogate(code) && bytes[next] === char.backslash && bytes[next + 1] === char.u) {
      const low = hexadecimal(bytes, next + 2);
      if (isLowSurrogate(low)) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        next += 6;
      }
    }
    end = writeCodePoint(target, end, code);
  }
  return end;
}

/** Characters that JSON escapes stand for, by the byte after the backslash. */
const meaningOf = new Uint8Array(128);
for (const [letter, meaning] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
  meaningOf[(letter as string).charCodeAt(0)] = (meaning as string).charCodeAt(0);
}

function hexadecimal(bytes: Uint8Array, at: number): number {
  let number = 0;
  for (let digit = at; digit < at + 4; digit++) {
    const byte = bytes[digit] as number;
    // The low bits of a decimal digit are its value. The low bits of a letter, in upper or lower case, are 1 (a) to 6 (f).
    number = (number << 4) | (byte <= 0x39 ? byte & 0xf : (byte & 0xf) + 9);
  }
  return number;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

function writeCodePoint(target: Uint8Array, at: number, code: number): number {
  const whole = code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
  let end = at;
  if (whole < 0x80) {
    target[end++] = whole;
    return end;
  }
  if (whole < 0x800) target[end++] = 0xc0 | (whole >> 6);
  else {
    if (whole < 0x10000) target[end++] = 0xe0 | (whole >> 12);
    else {
      target[end++] = 0xf0 | (whole >> 18);
      target[end++] = 0x80 | ((whole >> 12) & 0x3f);
    }
    target[end++] = 0x80 | ((whole >> 6) & 0x3f);
  }
  target[end++] = 0x80 | (whole & 0x3f);
  return end;
}
