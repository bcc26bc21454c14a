/** Renders numbers and their nouns for messages. */

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Renders a whole number with grouped digits: `1,234,567`. */
export function groupedText(count: number): string {
  return grouped.format(count);
}

/** Returns `one` (such as `is`) if `count` is 1, and otherwise `several` (such as `are`). */
export function wordFor(count: number, one: string, several: string): string {
  return count === 1 ? one : several;
}

/** Returns the regular plural of a noun: `files`, `searches`, `classes`, `boxes`, `hashes`. */
export function pluralOf(noun: string): string {
  return /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

/** Renders a number with its noun: `1 file`, `2 files`. */
export function counted(count: number, noun: string, several = pluralOf(noun)): string {
  return `${count} ${wordFor(count, noun, several)}`;
}
