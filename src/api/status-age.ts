/**
 * Recognizes the status of an export that is older than the export. After a restore from a backup, an export may have the status of the
 * deleted resource. That status may name files that the destination has lost, so logfleet ignores the status and reads the destination
 * (E3).
 *
 * Invariant: no status that logfleet writes has a condition `Ready` that is older than the export, even if the clock of logfleet is behind
 * that of the API server.
 */
import { type Condition, findCondition } from './conditions.ts';
import type { ObjectMeta } from './kinds.ts';

/** True if the status was written for an earlier export of the same name. */
export function isOlderThanResource(
  status: { readonly conditions?: readonly Condition[] } | undefined,
  { creationTimestamp }: Pick<ObjectMeta, 'creationTimestamp'>,
): boolean {
  const ready = findCondition(status?.conditions, 'Ready');
  return secondOf(ready?.lastTransitionTime) < secondOf(creationTimestamp);
}

/** Current time in ms for conditions and other times in a status. Never earlier than the creation of the export. */
export function statusTimeMs({ creationTimestamp }: Pick<ObjectMeta, 'creationTimestamp'>, nowMs: number): number {
  return Math.max(nowMs, Date.parse(creationTimestamp) || nowMs);
}

/** Seconds since 1970 of a time in RFC 3339. NaN if there is no time. */
function secondOf(time: string | undefined): number {
  return Math.floor(Date.parse(time ?? '') / 1_000);
}
