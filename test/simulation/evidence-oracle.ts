/** Checks that the operator repeats an upgrade only if collector lists show the need for it (U3, U6, U8). */

import type { TaskState } from '../../simulator/snapshot.ts';
import { policySettings } from '../../src/policy/attempts/settings.ts';
import { pace } from './plan.ts';
import type { HistoryRecord, PostRecord, Sighting } from './record.ts';
import { isUnknown } from './task-oracle.ts';

/** Tolerated difference in ms between the clocks of a process and the service. */
const slackMs = 1_000;

export function evidenceViolations(record: HistoryRecord): string[] {
  const byCollector = Map.groupBy(record.posts, ({ collectorId }) => collectorId);
  return [...byCollector.values()].flatMap((posts) =>
    posts.flatMap((post, index) => {
      const before = posts[index - 1];
      const what = before && before.toVersion === post.toVersion ? unfounded(record, before, post) : undefined;
      return what === undefined
        ? []
        : [`${what}: ${post.process} posted ${post.collectorId} again at ${post.atMs}, after ${before?.atMs}`];
    }),
  );
}

function unfounded(record: HistoryRecord, before: PostRecord, post: PostRecord): string | undefined {
  const { policyChanges, sightings, plan, disturbances } = record;
  // A restored ledger may lack the first upgrade if the backup was older. The second upgrade is then permitted.
  if (disturbances.some(({ what, atMs }) => what === 'restore' && atMs >= before.atMs && atMs <= post.atMs))
    return undefined;
  // Skips the check if the policy changed between the two upgrades, because they may belong to different rollouts.
  if (
    policyChanges.some(
      ({ atMs }) => atMs > before.atMs - slackMs && atMs <= post.atMs && policyChanges.length > plan.policies.length,
    )
  ) {
    return undefined;
  }
  const graceMs = plan.settings.graceMs ?? policySettings.graceMs;
  const seen = (sightings.get(post.collectorId) ?? []).filter(({ sentAtMs }) => sentAtMs <= post.atMs);
  const away = seen.filter(({ version }) => version !== post.toVersion);
  if (before.response && Math.floor(before.response.status / 100) === 4) return undefined;
  if (isUnknown(record, before)) {
    return seenSince(away, before.atMs + graceMs) ? undefined : 'U3: a probe without a listing that was sent G later';
  }
  const task = taskOf(record, before);
  if (!task || task.endTime === null) return undefined;
  const endedMs = task.endTime - record.startMs;
  if (endedMs > post.atMs) return undefined;
  // With several policies, an upgrade by another tool may be followed by upgrades from two policies. These rules only
  // concern upgrades from one policy.
  if (post.known.length > 1 && plan.fleet.touched.size > 0) return undefined;
  if (task.status === 2) return driftUnconfirmed(record, away, endedMs, graceMs);
  const timedOut = endedMs - before.atMs >= (30 * 60_000) / pace - slackMs;
  return timedOut && !seenSince(away, endedMs + graceMs - slackMs)
    ? 'U6: a retry without a listing that was sent G after the time-out'
    : undefined;
}

/**
 * Returns a violation if the operator upgraded an updated collector again too early. Two collector lists, read ten
 * minutes apart, must first show that the collector no longer runs the target (U8).
 */
function driftUnconfirmed(
  { plan }: HistoryRecord,
  away: readonly Sighting[],
  endedMs: number,
  graceMs: number,
): string | undefined {
  const confirmMs = (plan.settings.driftConfirmMs ?? policySettings.driftConfirmMs) - slackMs;
  const first = away.find(({ sentAtMs }) => sentAtMs >= endedMs + graceMs - slackMs);
  const confirmed = first !== undefined && seenSince(away, first.sentAtMs + confirmMs);
  return confirmed ? undefined : 'U8: an updated collector was upgraded again without two listings ten minutes apart';
}

function seenSince(sightings: readonly Sighting[], sinceMs: number): boolean {
  return sightings.some(({ sentAtMs }) => sentAtMs >= sinceMs);
}

/** Returns the upgrade task that this accepted POST request created, or undefined if there is none. */
function taskOf({ state, startMs }: HistoryRecord, { collectorId, atMs }: PostRecord): TaskState | undefined {
  return state.tasks.find(
    (task) =>
      !task.foreign &&
      task.collectorId === collectorId &&
      task.requestTime - startMs >= atMs &&
      task.requestTime - startMs < atMs + 500,
  );
}
