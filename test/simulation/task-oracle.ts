/** Checks that no upgrade task runs twice, and that there are no more tasks than needed (U15). */
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import type { TaskState } from '../../simulator/snapshot.ts';
import { annotations } from '../../src/api/annotations.ts';
import type { HistoryRecord, PostRecord } from './record.ts';

export function taskViolations(record: HistoryRecord): string[] {
  const own = record.state.tasks.filter(({ foreign }) => !foreign);
  const byCollector = Map.groupBy(own, ({ collectorId }) => collectorId);
  return [...byCollector].flatMap(([id, tasks]) => [...overlaps(record, id, tasks), ...tooMany(record, id, tasks)]);
}

/** Checks that the operator never runs two upgrades of a collector at the same time. */
function overlaps(record: HistoryRecord, id: string, tasks: readonly TaskState[]): string[] {
  const { startMs, plan, state } = record;
  const found: string[] = [];
  const name = state.collectors.find((collector) => collector.id === id)?.name ?? '';
  const patches = Object.values(plan.fleet.events).map(({ patch }) => patch as Scenario | undefined);
  const dies = plan.deaths.some((death) => death.name === name);
  const goesOffline = dies || patches.some((patch) => patch?.collectors?.[name]?.running === false);
  for (const [index, task] of tasks.entries()) {
    const before = tasks[index - 1];
    if (!before) continue;
    const collectorEndMs = goesOffline ? null : before.collectorEndTime;
    const endMs = collectorEndMs ?? before.endTime ?? Number.POSITIVE_INFINITY;
    if (task.requestTime < endMs && !isForgotten(record, before.requestTime - startMs, task.requestTime - startMs)) {
      found.push(
        `U15: two upgrades of ${id} run at the same time: task ${before.id}, and task ${task.id} from ${task.requestTime - startMs} on`,
      );
    }
  }
  return found;
}

/**
 * Reports whether the policy and its ledger were deleted in this period. If so, the operator has no record of the
 * policy's running upgrades.
 */
function isForgotten({ policyChanges, disturbances }: HistoryRecord, fromMs: number, untilMs: number): boolean {
  const isBetween = ({ atMs }: { readonly atMs: number }) => atMs >= fromMs && atMs <= untilMs;
  return policyChanges.some((one) => one.deleted && isBetween(one)) && disturbances.some(isBetween);
}

/**
 * Returns a violation if a collector had too many tasks. One task is allowed for each rollout, retry, unknown outcome
 * and change by another tool.
 */
function tooMany(record: HistoryRecord, id: string, tasks: readonly TaskState[]): string[] {
  const found: string[] = [];
  for (const [toVersion, accepted] of Map.groupBy(tasks, (task) => task.toVersion)) {
    const { rollouts, limit } = rolloutsTowards(record, toVersion);
    const retries = record.plan.fleet.cannotFail ? 0 : limit;
    const posts = record.posts.filter((post) => post.collectorId === id && post.toVersion === toVersion);
    const unknown = posts.filter((post) => isUnknown(record, post)).length;
    // Each upgrade to another version, for example by another policy, permits one more upgrade to this version.
    const elsewhere = tasks.length - accepted.length;
    const renewed = renewals(record) * (1 + maxRetries(record));
    const max = rollouts * (1 + retries) + renewed + unknown + interventions(record, id) + elsewhere;
    if (accepted.length > max) {
      found.push(
        `U15: ${accepted.length} tasks to upgrade ${id} to ${toVersion} were accepted, but at most ${max} are allowed (${unknown} unknown outcomes)`,
      );
    }
  }
  return found;
}

/**
 * Returns the number of rollouts that had this target version, and the highest number of retries allowed by their
 * policies.
 */
function rolloutsTowards(
  { plan, policyChanges }: HistoryRecord,
  toVersion: string,
): { rollouts: number; limit: number } {
  let rollouts = 0;
  let limit = 0;
  const latest = new Map<string, string | undefined>();
  for (const { policy, deleted } of policyChanges) {
    const { uid } = policy.metadata;
    const target = deleted ? undefined : (policy.spec.target.version ?? plan.fleet.builds.at(-1));
    if (target === toVersion && latest.get(uid) !== target) rollouts++;
    if (target === toVersion) limit = Math.max(limit, policy.spec.retryPolicy.limit);
    latest.set(uid, target);
  }
  return { rollouts, limit };
}

/** Returns how many more upgrades of a collector are allowed because of retries, rollbacks and restored ledgers. */
function renewals({ plan, policyChanges, posts, disturbances }: HistoryRecord): number {
  const retries = new Set(policyChanges.map(({ policy }) => policy.metadata.annotations[annotations.retry])).size - 1;
  const back = new Set(posts.filter(({ intent }) => intent?.isRollback).map(({ intent }) => intent?.rolloutId)).size;
  const restores = disturbances.filter(({ what }) => what === 'restore').length;
  return plan.fleet.cannotFail ? restores : (1 + retries) * (1 + back) - 1 + restores;
}

function maxRetries({ plan, policyChanges }: HistoryRecord): number {
  return plan.fleet.cannotFail ? 0 : Math.max(...policyChanges.map(({ policy }) => policy.spec.retryPolicy.limit));
}

/** Returns how many times another tool or a user might have changed the collector. */
function interventions({ plan, state }: HistoryRecord, id: string): number {
  const name = state.collectors.find((collector) => collector.id === id)?.name ?? '';
  return plan.fleet.touched.has(name) ? Object.keys(plan.fleet.events).length : 0;
}

/**
 * Periods in ms before and after a kill. The operator might not learn the outcome of a request sent in these periods.
 */
const disturbedMs = { before: 30_000, after: 30_000 } as const;

/** Reports whether the operator might not know how the upgrade request ended. */
export function isUnknown({ disturbances }: HistoryRecord, { atMs, response }: PostRecord): boolean {
  if (response === undefined || (response.status !== 202 && Math.floor(response.status / 100) !== 4)) return true;
  return disturbances.some(
    ({ what, ...one }) =>
      !what.startsWith('api fault') && one.atMs > atMs - disturbedMs.before && one.atMs < atMs + disturbedMs.after,
  );
}
