/**
 * Checks (oracle) that the operator keeps `strategy.maxInProgress`: it starts no upgrade while this number of the policy's
 * upgrades run at the service. Tasks of collectors that already ran the target do not count, because a listing shows their
 * success at once.
 */
import type { HistoryRecord, PostRecord } from './record.ts';
import { textsAt } from './rollouts.ts';
import { isSelected, shareOf } from './wanted.ts';

export function inProgressViolations(record: HistoryRecord): string[] {
  // A ledger that was restored from a backup does not have all running upgrades.
  if (record.plan.actions.some(({ kind }) => kind === 'restore')) return [];
  const byPolicy = Map.groupBy(record.posts, ({ intent }) => intent?.policy);
  return [...byPolicy].flatMap(([policy, posts]) =>
    // A probe repeats the POST of an attempt, so it is not counted in addition to the attempt.
    policy === undefined
      ? []
      : posts.flatMap((post) => (post.intent?.probe ? [] : tooMany(record, policy, posts, post))),
  );
}

function tooMany(record: HistoryRecord, policy: string, posts: readonly PostRecord[], post: PostRecord): string[] {
  const { plan, state, startMs, versions } = record;
  const taskIds = new Set(posts.map(({ answer }) => answer?.taskId));
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
  return running < limit ? [] : [`in progress: ${words}, maxInProgress is ${limit}`];
}
