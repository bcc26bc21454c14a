/** JSON text by which two values can be compared: members in order, since an API server gives them back in one of its own. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, inOrder);
}

/** The same, one line for small things, readable by people and by `diff`. */
export function canonicalLines(value: unknown): string {
  return JSON.stringify(value, inOrder, 1);
}

function inOrder(_: string, member: unknown): unknown {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
  return Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** Whether two values have the same canonical text, without making it: whoever compares often pays for what differs alone. */
export function sameValue(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, index) => sameValue(item, right[index]));
  }
  const [lefts, rights] = [left as Record<string, unknown>, right as Record<string, unknown>];
  let known = 0;
  for (const key in lefts) {
    if (lefts[key] === undefined) continue;
    known++;
    if (!sameValue(lefts[key], rights[key])) return false;
  }
  for (const key in rights) if (rights[key] !== undefined) known--;
  return known === 0;
}
