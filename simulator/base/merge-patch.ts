/** JSON merge patches (RFC 7396). `null` removes a member, and any other value replaces it. */
import { isRecord } from '../../src/base/record.ts';

/** Returns a patched copy of the target. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map(isRecord(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
