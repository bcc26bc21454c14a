/** Numbers and their nouns in messages. */

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Rounds a number, and groups its digits: `1,234,567`. */
export function groupedText(count: number): string {
  return grouped.format(count);
}

/** Returns the form of a word for a number: `is` for 1, otherwise `are`. */
export function wordFor(count: number, one: string, several: string): string {
  return count === 1 ? one : several;
}

/** Returns a number with its noun: `1 file`, `2 files`. */
export function counted(count: number, noun: string, several = `${noun}s`): string {
  return `${count} ${wordFor(count, noun, several)}`;
}
