/** Functions for JSON objects with unknown fields. */

/** JSON object with unknown fields. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Reports whether a value is a JSON object, and not an array or null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a JSON object. Returns undefined if the text is not a JSON object. */
export function recordOfJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a copy of an object without undefined fields. */
export function defined<T extends object>(members: T): { [N in keyof T]?: Exclude<T[N], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [N in keyof T]?: Exclude<T[N], undefined> };
}
