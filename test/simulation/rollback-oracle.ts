/** U14: only those that a rollout brought to its target are taken back, to the version that they had, and only when it is rolled back. */
import type { HistoryRecord, PostRecord } from './record.ts';
import { isUnsteady, type RolloutPost, rolloutsOf } from './rollouts.ts';

export function rollbackViolations(record: HistoryRecord): string[] {
  return rolloutsOf(record).flatMap((posts) =>
    posts.flatMap((post) => {
      const what = post.intent.back ? unfounded(record, post) : undefined;
      return what === undefined
        ? []
        : [`U14: ${what}: ${post.process} posted ${post.name} to ${post.toVersion} at ${post.atMs}`];
    }),
  );
}

function unfounded(record: HistoryRecord, post: RolloutPost): string | undefined {
  const { intent, collectorId, name, toVersion } = post;
  if (intent.stop !== 'rollback') return 'taken back, and the rollout is not rolled back';
  if (!wantsRollback(record, intent.policy)) return 'taken back, and nobody has ever wanted that';
  const first = firstForth(record, post);
  if (!first) return 'taken back, and it was never started';
  if (isUnsteady(record, name)) return undefined;
  // A list may have shown what was a moment ago.
  const had = record.versions.get(collectorId)?.filter(({ sinceMs }) => sinceMs <= first.atMs) ?? [];
  if (!had.some(({ version }) => version === toVersion))
    return `taken back to another version than ${had.at(-1)?.version}`;
  const hasReached = record.versions
    .get(collectorId)
    ?.some(({ version, sinceMs }) => version === intent.target && sinceMs <= post.atMs);
  return hasReached ? undefined : 'taken back, and it was never at the target';
}

/**
 * What was in flight to the target of a rollout when that began belongs to it. A process that died may leave an attempt of which nobody
 * knows whether it was sent (U3): who is at the target then was brought there as far as can be known, also where another policy did it.
 */
function firstForth({ posts, disturbances }: HistoryRecord, post: RolloutPost): PostRecord | undefined {
  const { intent, collectorId, atMs } = post;
  const mayBeUnknown = disturbances.some((disturbance) => disturbance.atMs < atMs);
  const forth = posts.filter(
    (one) =>
      one.collectorId === collectorId &&
      one.toVersion === intent.target &&
      one.atMs < atMs &&
      (one.intent?.policy === intent.policy || mayBeUnknown) &&
      !one.intent?.back,
  );
  return forth.find((one) => one.intent?.rolloutId === intent.rolloutId) ?? forth.at(-1);
}

function wantsRollback({ policyChanges }: HistoryRecord, uid: string): boolean {
  return policyChanges.some(
    ({ policy }) => policy.metadata.uid === uid && policy.spec.failurePolicy?.action === 'Rollback',
  );
}
