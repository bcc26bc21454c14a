/** Oracle for requests to create tasks: each was wanted when it left (U2, U11, U13). */
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import { settledAfterChangeMs } from './convergence.ts';
import type { HistoryRecord, PostRecord } from './record.ts';
import { acts, compareRank, compareVersions, isHosted, isSelected, targetOf } from './wanted.ts';

export function postViolations(record: HistoryRecord): string[] {
  const names = new Map(record.state.collectors.map(({ id, name }) => [id, name]));
  return record.posts.flatMap((post) => {
    const name = names.get(post.collectorId);
    // Of who is gone by now nobody can say what it was.
    const what = name === undefined ? undefined : unwanted(record, post, name);
    return what === undefined
      ? []
      : [`${what}: ${post.process} posted ${post.collectorId} to ${post.toVersion} at ${post.atMs}`];
  });
}

function unwanted(record: HistoryRecord, post: PostRecord, name: string): string | undefined {
  const { plan } = record;
  if (plan.leaderElection && !post.leaseHolder?.startsWith(`${post.process}_`)) return 'U2: sent without the lease';
  const subject = { name, version: post.truth?.version ?? '' };
  if (isHosted(subject)) return 'U11: a hosted collector';
  // Another oracle checks rollback attempts.
  if (post.intent?.back) return undefined;
  // By the newest that this process knew.
  const wanting = post.known.filter((policy) => acts(policy) && targetOf(plan, policy) === post.toVersion);
  if (wanting.length === 0) return 'U2: no policy that acts wants this version';
  const selecting = wanting.filter((policy) => isSelected(plan, policy, subject) !== false);
  if (selecting.length === 0) return 'U12: no policy that wants this version selects it';
  if (selecting.every((policy) => goesFirst(record, post, policy, subject))) return 'U13: it belongs to another policy';
  if (selecting.every((policy) => isBack(post, policy))) return 'downgrade: it runs a newer version';
  return wasThereLongAgo(record, post) ? 'U7: it has run this version for long' : undefined;
}

/** Whether another policy that this process knew goes before this one for sure, and wants another version. */
function goesFirst(
  { plan, policyChanges }: HistoryRecord,
  post: PostRecord,
  policy: CollectorVersionPolicy,
  subject: { name: string; version: string },
): boolean {
  return post.known.some(
    (other) =>
      other !== policy &&
      // What was written ahead before it came is open, and does not pass on.
      !policyChanges.some(
        (change) => change.policy.metadata.uid === other.metadata.uid && change.atMs > post.atMs - settledAfterChangeMs,
      ) &&
      other.metadata.deletionTimestamp === undefined &&
      isSelected(plan, other, subject) === true &&
      compareRank(other, policy) < 0 &&
      targetOf(plan, other) !== undefined &&
      targetOf(plan, other) !== post.toVersion &&
      // What is open does not pass on (U13): a request before may still be without an outcome, or was written ahead and never left.
      !post.repeats &&
      post.intent?.probe !== true,
  );
}

function isBack({ truth, toVersion }: PostRecord, policy: CollectorVersionPolicy): boolean {
  return (
    !policy.spec.allowDowngrade &&
    truth !== undefined &&
    compareVersions(truth.version, toVersion) > 0 &&
    truth.sinceMs === 0
  );
}

/** Longer than any list can be old, by the policies' resyncs and what may keep them waiting. */
const longMs = 240_000;

function wasThereLongAgo({ disturbances }: HistoryRecord, { truth, toVersion, atMs }: PostRecord): boolean {
  if (truth?.version !== toVersion || truth.sinceMs > atMs - longMs) return false;
  return !disturbances.some((one) => one.atMs > atMs - longMs && one.atMs < atMs);
}
