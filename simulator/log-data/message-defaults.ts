/** Default values for message fields. */

/** Default timestamp format of messages, in the notation used by real services. */
export const defaultFormat = "t:cache:o:0:l:29:p:yyyy-MM-dd'T'HH:mm:ss.SSSZZZZ";

/**
 * First characters of the value of the field `_blockid`. They are the same in all messages, and sixteen digits follow.
 */
export const blockIdStart = '-922';
export const blockIdDigits = 16;

export function blockId(block: number): string {
  return blockIdStart + String(block).padStart(blockIdDigits, '0');
}
