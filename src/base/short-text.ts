/** Shortens text for messages. */

/** Replaces line breaks, control characters and repeated spaces, each with one space. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** Truncates text to `maxLength` characters. */
export function bounded(text: string, maxLength: number): string {
  return text.slice(0, maxLength).toWellFormed();
}

/** Truncates text to at most `maxBytes` bytes of UTF-8, without dividing a character. */
export function boundedBytes(text: string, maxBytes: number): string {
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(maxBytes)).read);
}

/** Truncates text that is longer than `maxLength`, and appends `…`. */
export function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${bounded(text, maxLength)}…` : text;
}
