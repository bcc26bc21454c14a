/** Shortens text for messages. */

/**
 * Puts a text on one line. Replaces each run of whitespace and control characters with one space, and trims the text.
 */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** Truncates text to `maxLength` characters. */
export function bounded(text: string, maxLength: number): string {
  return text.slice(0, maxLength).toWellFormed();
}

/** Truncates text to at most `maxBytes` bytes of UTF-8, without splitting a character. */
export function boundedBytes(text: string, maxBytes: number): string {
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(maxBytes)).read);
}

/** Truncates text that is longer than `maxLength`, and appends `…`. */
export function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${bounded(text, maxLength)}…` : text;
}
