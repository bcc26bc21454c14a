/** Type checks and comparison for untrusted JSON and YAML values. */

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns whether two values are equal as JSON, regardless of the order of members. */
export function isSameData(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isSameData(item, right[index]));
  }
  if (!isRecord(left) || !isRecord(right)) return left === right;
  const names = definedNames(left);
  return names.length === definedNames(right).length && names.every((name) => isSameData(left[name], right[name]));
}

function definedNames(record: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(record).filter((name) => record[name] !== undefined);
}
