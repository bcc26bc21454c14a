/** Quotes a word for use in a shell, if it needs quotes. */
export function shellWord(text: string): string {
  return /^[\w./:@~+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
