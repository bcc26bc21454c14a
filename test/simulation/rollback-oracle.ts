/**
 * Checks rollbacks. They must change only collectors that the rollout upgraded, and must install only versions that the
 * collectors ran before (U14, R7).
 */
import { isByZone } from './convergence.ts';
import type { HistoryRecord, PostRecord } from './record.ts';
import { isUnsteady, type ObservedRollout, type RolloutPost, retriesOf, rolloutsOf, textsOf } from './rollouts.ts';

export function rollbackViolations(record: HistoryRecord): string[] {
  return rolloutsOf(record).flatMap((rollout) => [
    ...leftBehind(record, rollout),
    ...rollout.posts.flatMap((post) => {
      const what = post.intent.isRollback ? wrongRollback(record, post) : undefined;
      return what === undefined
        ? []
        : [`U14: ${what}: ${post.process} posted ${post.name} to ${post.toVersion} at ${post.atMs}`];
    }),
  ]);
}

/** Returns violations for collectors that are still running the target after the rollback. */
function leftBehind(record: HistoryRecord, { policy, rolloutId, target, posts }: ObservedRollout): string[] {
  const { plan, convergedAtMs, statuses, state } = record;
  const texts = textsOf(record, policy);
  const isChanged = new Set(texts.map(({ metadata }) => metadata.generation)).size > 1;
  const isPlain = plan.policies.length === 1 && plan.mixedUpTasks === 0 && convergedAtMs !== undefined && !isChanged;
  if (!isPlain || retriesOf(record, { policy, rolloutId }).length > 0) return [];
  const { status } = statuses.findLast(({ uid }) => uid === policy) ?? {};
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
  if (ready !== 'RolledBack' || status?.rollout?.id !== rolloutId) return [];
  // If the service offers only one build, no list shows which collectors run it, so a new process does not know their
  // time zones. The process then cannot tell which collectors a policy selects by time zone.
  if (plan.fleet.offer === 'single' && texts.some(isByZone)) return [];
  const tried = new Set(posts.filter(({ intent }) => intent.isRollback).map(({ collectorId }) => collectorId));
  const there = new Set(
    state.collectors.filter(({ version, alive }) => alive && version === target).map(({ id }) => id),
  );
  const isLeft = ({ intent, task, name, collectorId }: RolloutPost) =>
    !intent.isRollback &&
    task?.status === 2 &&
    !isUnsteady(record, name) &&
    there.has(collectorId) &&
    !tried.has(collectorId);
  return posts.filter(isLeft).map(({ name }) => `R7: ${name} still runs ${target} after the rollback`);
}

function wrongRollback(record: HistoryRecord, post: RolloutPost): string | undefined {
  const { intent, collectorId, name, toVersion } = post;
  if (intent.stop !== 'rollback') return 'the rollout is not rolled back';
  if (textsOf(record, intent.policy).every(({ spec }) => spec.failurePolicy?.action !== 'Rollback'))
    return 'the policy never had the action Rollback';
  const upgrade = firstUpgrade(record, post);
  if (!upgrade) return 'the rollout never upgraded the collector';
  if (isUnsteady(record, name)) return undefined;
  // The collector list may lag, so every version that the collector ran before the upgrade counts as its previous
  // version.
  const former = record.versions.get(collectorId)?.filter(({ sinceMs }) => sinceMs <= upgrade.atMs) ?? [];
  if (!former.some(({ version }) => version === toVersion)) return `its former version was ${former.at(-1)?.version}`;
  const hasReached = record.versions
    .get(collectorId)
    ?.some(({ version, sinceMs }) => version === intent.target && sinceMs <= post.atMs);
  return hasReached ? undefined : 'the collector never ran the target';
}

/**
 * Returns the upgrade that a rollback attempt undoes. After a kill or another fault, the undone upgrade can belong to
 * another policy (U3).
 */
function firstUpgrade({ posts, disturbances }: HistoryRecord, post: RolloutPost): PostRecord | undefined {
  const { intent, collectorId, atMs } = post;
  const mayBeUnknown = disturbances.some((disturbance) => disturbance.atMs < atMs);
  const upgrades = posts.filter(
    (one) =>
      one.collectorId === collectorId &&
      one.toVersion === intent.target &&
      one.atMs < atMs &&
      (one.intent?.policy === intent.policy || mayBeUnknown) &&
      !one.intent?.isRollback,
  );
  return upgrades.find((one) => one.intent?.rolloutId === intent.rolloutId) ?? upgrades.at(-1);
}
