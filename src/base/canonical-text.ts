/** Renders and compares JSON values. The order of fields is ignored, because an API server may change it. */
import { isRecord } from './record.ts';
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, inOrder);
}

/** Returns a value as indented JSON text with sorted fields. */
export function canonicalLines(value: unknown): string {
  return JSON.stringify(value, inOrder, 1);
}

function inOrder(_: string, member: unknown): unknown {
  if (!isRecord(member)) return member;
  return Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** Reports whether two JSON values are equal, regardless of field order. */
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
