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

/** Returns whether the status was written for an earlier export of the same name. */
export function isOlderThanResource(
  status: { readonly conditions?: readonly Condition[] } | undefined,
  { creationTimestamp }: Pick<ObjectMeta, 'creationTimestamp'>,
): boolean {
  const ready = findCondition(status?.conditions, 'Ready');
  return secondOf(ready?.lastTransitionTime) < secondOf(creationTimestamp);
}

/** Returns the current time in ms, to be written into a status. The time is never earlier than the creation of the export. */
export function statusTimeMs({ creationTimestamp }: Pick<ObjectMeta, 'creationTimestamp'>, nowMs: number): number {
  return Math.max(nowMs, Date.parse(creationTimestamp) || nowMs);
}

/** Returns the seconds since 1970 of an RFC 3339 time, or NaN if there is no time. */
function secondOf(time: string | undefined): number {
  return Math.floor(Date.parse(time ?? '') / 1_000);
}
