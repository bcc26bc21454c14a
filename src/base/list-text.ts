const list = new Intl.ListFormat('en-GB');

/** Joins texts into an English list: `a`, `a and b`, `a, b and c`. */
export function listText(items: Iterable<string>): string {
  return list.format(items);
}
