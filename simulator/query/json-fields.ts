/**
 * Fields of JSON messages. For example, `{"a":{"b":[1,2]}}` has the fields `a.b[0]` and `a.b[1]`. Null values, and
 * fields with the name of a standard field, are skipped.
 */
import { parseLosslessJson } from '../base/lossless-json.ts';
import { messageField } from './message-fields.ts';
import type { FieldSource, Predicate } from './predicate.ts';

/**
 * Maximum number of fields in a JSON message (`maxJsonFields`) and maximum nesting depth of its objects
 * (`deepestJsonField`).
 */
const maxJsonFields = 200;
const deepestJsonField = 20;

const jsonCost = 100;
const longInteger = /\d{16}/;

/**
 * Returns the names and values of the fields in a JSON message. If two field names differ only in case, the second
 * field is skipped.
 */
export function jsonFields(raw: string): readonly (readonly [name: string, value: string])[] {
  const value = parseObject(raw);
  if (value === undefined) return [];
  const found = new Map<string, readonly [string, string]>();
  collect(value, '', 0, found);
  return [...found.values()];
}

/** Returns a condition like `predicate` that can also read the fields of JSON messages. */
export function withJsonFields(predicate: Predicate): Predicate {
  const stored = [...predicate.reads].filter((name) => messageField(name));
  if (stored.length === predicate.reads.size) return predicate;
  return {
    reads: new Set([...stored, '_raw']),
    cost: predicate.cost + jsonCost,
    holds: (fields) => predicate.holds(parsedFields(fields)),
  };
}

function parsedFields(fields: FieldSource): FieldSource {
  let parsed: ReadonlyMap<string, string> | undefined;
  return {
    field(lowerName) {
      if (messageField(lowerName)) return fields.field(lowerName);
      const raw = () => String(fields.field('_raw') ?? '');
      parsed ??= new Map(jsonFields(raw()).map(([name, value]) => [name.toLowerCase(), value]));
      return parsed.get(lowerName);
    },
  };
}

function parseObject(raw: string): object | undefined {
  if (!/^\s*\{/.test(raw)) return undefined;
  try {
    return (longInteger.test(raw) ? parseLosslessJson(raw) : JSON.parse(raw)) as object;
  } catch {
    return undefined;
  }
}

function collect(value: unknown, name: string, depth: number, found: Map<string, readonly [string, string]>): void {
  if (value === null) return;
  if (typeof value !== 'object') {
    const lowerName = name.toLowerCase();
    if (!found.has(lowerName) && !messageField(name)) found.set(lowerName, [name, String(value)]);
    return;
  }
  if (depth === deepestJsonField) return;
  for (const [member, inner] of Object.entries(value)) {
    if (found.size === maxJsonFields) return;
    const innerName = Array.isArray(value) ? `${name}[${member}]` : name === '' ? member : `${name}.${member}`;
    collect(inner, innerName, depth + 1, found);
  }
}
