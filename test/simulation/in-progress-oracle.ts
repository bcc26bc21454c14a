/** Checks that no policy has more upgrades in progress than `strategy.maxInProgress` allows. */
import type { HistoryRecord, PostRecord } from './record.ts';
import { textsAt } from './rollouts.ts';
import { isSelected, shareOf } from './wanted.ts';

export function inProgressViolations(record: HistoryRecord): string[] {
  // Skips the check if a ledger was restored, because it may lack upgrades that are still running. The operator might
  // then exceed `maxInProgress`.
  if (record.plan.actions.some(({ kind }) => kind === 'restore')) return [];
  const byPolicy = Map.groupBy(record.posts, ({ intent }) => intent?.policy);
  return [...byPolicy].flatMap(([policy, posts]) =>
    // Repeated requests are left out of the count, because they do not start another upgrade.
    policy === undefined
      ? []
      : posts.flatMap((post) => (post.intent?.probe ? [] : tooMany(record, policy, posts, post))),
  );
}

function tooMany(record: HistoryRecord, policy: string, posts: readonly PostRecord[], post: PostRecord): string[] {
  const { plan, state, startMs, versions } = record;
  const taskIds = new Set(posts.map(({ response }) => response?.taskId));
  const others = state.collectors.filter(({ id, name }) => id === post.collectorId || plan.fleet.touched.has(name));
  const ignored = new Set(others.map(({ id }) => id));
  const running = state.tasks.filter(
    ({ id, collectorId, requestTime, endTime, collectorEndTime, fromVersion, toVersion }) =>
      taskIds.has(id) &&
      fromVersion !== toVersion &&
      !ignored.has(collectorId) &&
      requestTime - startMs < post.atMs &&
      Math.min(endTime ?? Number.POSITIVE_INFINITY, collectorEndTime ?? Number.POSITIVE_INFINITY) - startMs > post.atMs,
  ).length;
  const gone = versions.size - state.collectors.length;
  const limits = textsAt(record, policy, post.atMs).map((text) => {
    const selected = state.collectors.filter((one) => isSelected(plan, text, one) !== false).length;
    return shareOf(text.spec.strategy.maxInProgress, selected + gone);
  });
  const limit = Math.max(...limits);
  const words = `${post.process} posted ${post.collectorId} at ${post.atMs} while ${running} upgrades ran`;
  return running < limit ? [] : [`in progress: ${words}, but maxInProgress is ${limit}`];
}
