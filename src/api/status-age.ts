/**
 * Recognizes a status that is older than its export, for example after a restore from a backup. logfleet ignores such a
 * status, because it might refer to files that no longer exist (E3).
 */
import { type Condition, findCondition } from './conditions.ts';
import type { ObjectMeta } from './kinds.ts';

/**
 * Reports whether the status is older than the export. Such a status belongs to an earlier export with the same name.
 */
export function isOlderThanResource(
  status: { readonly conditions?: readonly Condition[] } | undefined,
  { creationTimestamp }: Pick<ObjectMeta, 'creationTimestamp'>,
): boolean {
  const ready = findCondition(status?.conditions, 'Ready');
  return secondOf(ready?.lastTransitionTime) < secondOf(creationTimestamp);
}

/**
 * Returns the time in ms for a new status. This time is never before the export's creation, so that the status does not
 * count as outdated.
 */
export function statusTimeMs({ creationTimestamp }: Pick<ObjectMeta, 'creationTimestamp'>, nowMs: number): number {
  return Math.max(nowMs, Date.parse(creationTimestamp) || nowMs);
}

/** Converts an RFC 3339 time to seconds since 1970. Returns NaN if `time` is undefined. */
function secondOf(time: string | undefined): number {
  return Math.floor(Date.parse(time ?? '') / 1_000);
}
