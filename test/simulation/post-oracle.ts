/** Checks for each upgrade request that a policy wanted the upgrade when the request was sent (U2, U11, U13). */
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import { settledAfterChangeMs } from './convergence.ts';
import type { HistoryRecord, PostRecord } from './record.ts';
import { acts, compareRank, compareVersions, isHosted, isSelected, targetOf } from './wanted.ts';

export function postViolations(record: HistoryRecord): string[] {
  const names = new Map(record.state.collectors.map(({ id, name }) => [id, name]));
  return record.posts.flatMap((post) => {
    const name = names.get(post.collectorId);
    // The names of removed collectors are unknown, so their upgrades are not checked.
    const what = name === undefined ? undefined : unwanted(record, post, name);
    return what === undefined
      ? []
      : [`${what}: ${post.process} posted ${post.collectorId} to ${post.toVersion} at ${post.atMs}`];
  });
}

function unwanted(record: HistoryRecord, post: PostRecord, name: string): string | undefined {
  const { plan } = record;
  if (plan.leaderElection && !post.leaseHolder?.startsWith(`${post.process}_`))
    return 'U2: the process did not hold the lease';
  const subject = { name, version: post.truth?.version ?? '' };
  if (isHosted(subject)) return 'U11: the collector is hosted, so it cannot be upgraded';
  // Rollbacks are checked in `rollback-oracle.ts`.
  if (post.intent?.isRollback) return undefined;
  // Uses the policies that the process knew, because it might not have received the latest change yet.
  const wanting = post.known.filter((policy) => acts(policy) && targetOf(plan, policy) === post.toVersion);
  if (wanting.length === 0) return 'U2: no active policy has this target';
  const selecting = wanting.filter((policy) => isSelected(plan, policy, subject) !== false);
  if (selecting.length === 0) return 'U12: no policy with this target selects the collector';
  if (selecting.every((policy) => goesFirst(record, post, policy, subject)))
    return 'U13: the collector belongs to another policy';
  if (selecting.every((policy) => isDowngrade(post, policy))) return 'downgrade: the collector runs a newer version';
  return ranTargetForLong(record, post) ? 'U7: the collector has run this version for a long time' : undefined;
}

/** Reports whether it is certain that another policy with a different target owned the collector. */
function goesFirst(
  { plan, policyChanges }: HistoryRecord,
  post: PostRecord,
  policy: CollectorVersionPolicy,
  subject: { name: string; version: string },
): boolean {
  return post.known.some(
    (other) =>
      other !== policy &&
      // Ignores policies that changed shortly before the request, because the process may have decided before it
      // received the change.
      !policyChanges.some(
        (change) => change.policy.metadata.uid === other.metadata.uid && change.atMs > post.atMs - settledAfterChangeMs,
      ) &&
      other.metadata.deletionTimestamp === undefined &&
      isSelected(plan, other, subject) === true &&
      compareRank(other, policy) < 0 &&
      targetOf(plan, other) !== undefined &&
      targetOf(plan, other) !== post.toVersion &&
      // A policy keeps the collector while the outcome of its upgrade request is unknown (U13).
      !post.repeats &&
      post.intent?.probe !== true,
  );
}

function isDowngrade({ truth, toVersion }: PostRecord, policy: CollectorVersionPolicy): boolean {
  return (
    !policy.spec.allowDowngrade &&
    truth !== undefined &&
    compareVersions(truth.version, toVersion) > 0 &&
    truth.sinceMs === 0
  );
}

/** Maximum age in ms of the collector list that a process uses to start an upgrade. */
const longMs = 240_000;

function ranTargetForLong({ disturbances }: HistoryRecord, { truth, toVersion, atMs }: PostRecord): boolean {
  if (truth?.version !== toVersion || truth.sinceMs > atMs - longMs) return false;
  return !disturbances.some((one) => one.atMs > atMs - longMs && one.atMs < atMs);
}
