/** Default values of message fields, for generated messages and for messages from files. */

/** Description of the timestamp format, in the notation of real services. */
export const defaultFormat = "t:cache:o:0:l:29:p:yyyy-MM-dd'T'HH:mm:ss.SSSZZZZ";

/** First characters of `_blockid`. Sixteen digits follow. Real services send ids near the lowest 64-bit number (service.md 10.3). */
export const blockIdStart = '-922';
export const blockIdDigits = 16;

export function blockId(block: number): string {
  return blockIdStart + String(block).padStart(blockIdDigits, '0');
}
