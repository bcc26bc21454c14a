/** What messages have where nothing says anything else, made up or from files. */

/** How a timestamp was read, as services describe it. */
export const usualFormat = "t:cache:o:0:l:29:p:yyyy-MM-dd'T'HH:mm:ss.SSSZZZZ";

/** Ids of blocks are low in the range of 64 bits, as those are that were seen (10.3): these and sixteen digits. */
export const blockIdStart = '-922';
export const blockIdDigits = 16;

export function blockId(block: number): string {
  return blockIdStart + String(block).padStart(blockIdDigits, '0');
}
