/**
 * Fields of a message that is JSON: `{"a":{"b":[1,2]}}` has `a.b[0]` and `a.b[1]`. A message that is no JSON object has none.
 *
 * Names of messages' own fields (2.5) are left out, and null is no value. Numbers come as JavaScript writes them, whole ones as they are.
 */
import { parseLosslessJson } from '../lossless-json.ts';
import { messageField } from './message-fields.ts';
import type { Fields, Predicate } from './predicate.ts';

/** How many fields of a message are taken, and how deep they may lie. */
const mostJsonFields = 200;
const deepestJsonField = 20;

const jsonCost = 100;
const longInteger = /\d{16}/;

/** Names and values in the order of the text; the first of several that differ only in case. */
export function jsonFields(raw: string): readonly (readonly [name: string, value: string])[] {
  const value = parseObject(raw);
  if (value === undefined) return [];
  const found = new Map<string, readonly [string, string]>();
  collect(value, '', 0, found);
  return [...found.values()];
}

/** The same condition on messages whose JSON has been parsed. */
export function withJsonFields(predicate: Predicate): Predicate {
  const stored = [...predicate.reads].filter((name) => messageField(name));
  if (stored.length === predicate.reads.size) return predicate;
  return {
    reads: new Set([...stored, '_raw']),
    cost: predicate.cost + jsonCost,
    holds: (fields) => predicate.holds(parsedFields(fields)),
  };
}

function parsedFields(fields: Fields): Fields {
  let parsed: ReadonlyMap<string, string> | undefined;
  return {
    field(name) {
      if (messageField(name)) return fields.field(name);
      parsed ??= new Map(jsonFields(fields.field('_raw') ?? '').map(([known, value]) => [known.toLowerCase(), value]));
      return parsed.get(name.toLowerCase());
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
  if (value === null || found.size === mostJsonFields) return;
  if (typeof value !== 'object') {
    const lowerName = name.toLowerCase();
    if (!found.has(lowerName) && !messageField(name)) found.set(lowerName, [name, String(value)]);
    return;
  }
  if (depth === deepestJsonField) return;
  for (const [member, inner] of Object.entries(value)) {
    if (found.size === mostJsonFields) return;
    const innerName = Array.isArray(value) ? `${name}[${member}]` : name === '' ? member : `${name}.${member}`;
    collect(inner, innerName, depth + 1, found);
  }
}
