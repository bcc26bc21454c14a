/**
 * Oracle for rollbacks (U14, R7): only collectors that a rollout upgraded return, to their former versions, and only during its
 * rollback. Afterwards none of them is left at the target.
 */
import { isByZone } from './convergence.ts';
import type { HistoryRecord, PostRecord } from './record.ts';
import { isUnsteady, type RolloutPost, retriesOf, rolloutsOf, wasRewritten } from './rollouts.ts';

export function rollbackViolations(record: HistoryRecord): string[] {
  const rollouts = rolloutsOf(record);
  const left = rollouts.flatMap((posts) => leftBehind(record, posts));
  const unasked = rollouts.flatMap((posts) =>
    posts.flatMap((post) => {
      const what = post.intent.back ? unfounded(record, post) : undefined;
      return what === undefined
        ? []
        : [`U14: ${what}: ${post.process} posted ${post.name} to ${post.toVersion} at ${post.atMs}`];
    }),
  );
  return [...left, ...unasked];
}

/** At rest, of the rollout of the only policy, whose text and collectors nobody has touched. */
function leftBehind(record: HistoryRecord, posts: readonly RolloutPost[]): string[] {
  const { plan, convergedAtMs, statuses, state } = record;
  const [first] = posts;
  const isPlain = plan.policies.length === 1 && plan.mixedUpTasks === 0 && convergedAtMs !== undefined;
  if (!first || !isPlain || wasRewritten(record, first.intent) || retriesOf(record, first.intent).length > 0) return [];
  const { policy, rolloutId, target } = first.intent;
  const { status } = statuses.findLast(({ uid }) => uid === policy) ?? {};
  const says = status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
  if (says !== 'RolledBack' || status?.rollout?.id !== rolloutId) return [];
  // Of a single build no list shows who is at it, nor the zone by which its window opens: who comes after a restart cannot know it.
  if (plan.fleet.offer === 'single' && isByZone(first.policy)) return [];
  const tried = new Set(posts.filter(({ intent }) => intent.back).map(({ collectorId }) => collectorId));
  const brought = posts.filter(
    ({ intent, task, name }) => !intent.back && task?.status === 2 && !isUnsteady(record, name),
  );
  const there = new Set(
    state.collectors.filter(({ version, alive }) => alive && version === target).map(({ id }) => id),
  );
  return brought
    .filter(({ collectorId }) => there.has(collectorId) && !tried.has(collectorId))
    .map(({ name }) => `R7: ${name} stays at ${target}, which its rollout brought it to and was rolled back from`);
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
