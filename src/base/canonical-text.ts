/** JSON text by which two values can be compared: members in order, since an API server gives them back in one of its own. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}
