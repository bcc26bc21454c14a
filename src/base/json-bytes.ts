/** Bytes that have a special meaning in JSON (RFC 8259), and a fast search for the end of a string. */

export const char = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  apostrophe: 0x27,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  dot: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  equals: 0x3d,
  at: 0x40,
  E: 0x45,
  arrayStart: 0x5b,
  backslash: 0x5c,
  arrayEnd: 0x5d,
  underscore: 0x5f,
  a: 0x61,
  e: 0x65,
  f: 0x66,
  n: 0x6e,
  t: 0x74,
  u: 0x75,
  objectStart: 0x7b,
  objectEnd: 0x7d,
} as const;

/**
 * Returns a table with one entry for each byte value. An entry is 1 if its byte is a character of `text` (in Latin-1),
 * and otherwise 0.
 */
export function marked(text: string): Uint8Array {
  const marks = new Uint8Array(256);
  for (const character of text) marks[character.charCodeAt(0)] = 1;
  return marks;
}

/** Lookup table: 1 for each byte that is whitespace between JSON tokens. */
export const whitespace: Uint8Array = marked(' \t\n\r');
/** Lookup table: 1 for each byte that completes an escape sequence after a backslash, such as `n`. */
export const simpleEscape: Uint8Array = marked('"\\/bfnrt');
export const hexDigit: Uint8Array = marked('0123456789abcdefABCDEF');

/**
 * Returns the index of the first quote, backslash or control character at or after `from`. Returns `end` if there is
 * none. `view` must cover the same bytes as `bytes`, because it is used to read four bytes at a time.
 */
export function plainEnd(bytes: Uint8Array, view: DataView, from: number, end: number): number {
  let at = from;
  for (const last = end - 8; at <= last; at += 8) {
    const first = marksIn(view.getInt32(at, true));
    if (first !== 0) return at + indexOfMark(first);
    const second = marksIn(view.getInt32(at + 4, true));
    if (second !== 0) return at + 4 + indexOfMark(second);
  }
  while (at < end && isPlain(bytes[at] as number)) at++;
  return at;
}

/**
 * Finds quotes, backslashes and bytes below 0x20 among the four bytes of a word. Sets the highest bit of each such byte
 * in the result. Only the lowest set bit is reliable, because a subtraction can also set bits of higher bytes.
 */
function marksIn(word: number): number {
  // The XOR swaps the codes of the quote (0x22) and the space (0x20). The quote and all control characters are then
  // below 0x21, so one comparison finds them all.
  const controls = word ^ 0x02020202;
  const backslashes = word ^ 0x5c5c5c5c;
  return (((controls - 0x21212121) & ~controls) | ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080;
}

/** Returns the index of the byte that contains the lowest set bit, where the least significant byte has index 0. */
function indexOfMark(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >>> 3;
}

function isPlain(byte: number): boolean {
  return byte !== char.quote && byte !== char.backslash && byte >= 0x20;
}

/**
 * Returns the index of the quote that closes the string at `from`. Returns -1 if the string is invalid, or if there is
 * no such quote before the last 8 bytes.
 */
export function stringEnd(bytes: Uint8Array, view: DataView, from: number, end: number): number {
  let at = from;
  for (const last = end - 8; at <= last; ) {
    let marks = marksIn(view.getInt32(at, true));
    if (marks === 0) {
      at += 4;
      marks = marksIn(view.getInt32(at, true));
      if (marks === 0) {
        at += 4;
        continue;
      }
    }
    at += indexOfMark(marks);
    if (bytes[at] === char.quote) return at;
    if (bytes[at] !== char.backslash) return -1;
    const escaped = bytes[at + 1] as number;
    if (simpleEscape[escaped] === 1) at += 2;
    else if (escaped === char.u && areHexDigits(bytes, at + 2)) at += 6;
    else return -1;
  }
  return -1;
}

function areHexDigits(bytes: Uint8Array, at: number): boolean {
  for (let digit = at; digit < at + 4; digit++) {
    if (hexDigit[bytes[digit] as number] === 0) return false;
  }
  return true;
}

/** Reports whether the bytes of `expected` occur at index `at`. */
export function occursAt(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let place = 0; place < expected.length; place++) {
    if (bytes[at + place] !== expected[place]) return false;
  }
  return true;
}

/** Returns the text that represents a byte in error messages. */
export function nameOfByte(byte: number): string {
  const name = `0x${byte.toString(16).padStart(2, '0')}`;
  return byte > 0x20 && byte < 0x7f ? `${String.fromCharCode(byte)} (${name})` : name;
}
