/** Collects the rollouts in a simulated run: their upgrade requests, outcomes and stages. */

import type { TaskState } from '../../simulator/snapshot.ts';
import { annotations, parseApproval } from '../../src/api/annotations.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { HistoryRecord, Intent, LedgerWrite, PostRecord, RecordedStage, TaskNews } from './record.ts';

export type RolloutKey = Pick<Intent, 'policy' | 'rolloutId'>;

export interface ObservedRollout extends RolloutKey {
  readonly target: string;
  readonly posts: readonly RolloutPost[];
  /** Requests by which the rollout upgraded collectors, without the requests of its rollback. */
  readonly upgrades: readonly RolloutPost[];
  readonly writes: readonly LedgerWrite[];
}

export interface RolloutPost extends PostRecord {
  readonly intent: Intent;
  readonly name: string;
  readonly task: TaskState | undefined;
  /** Times at which processes received the final task status, each with the name of the process. */
  readonly news: readonly TaskNews[];
  /** The policy as known to the process when it sent the request. */
  readonly policy: CollectorVersionPolicy;
}

/** One run of a stage. Retrying an inconclusive stage begins another run. */
export interface StageRun {
  readonly stage: RecordedStage;
  /** Time at which the stage first appeared in the ledger. */
  readonly startAtMs: number;
  /** Time at which the end of the stage was written to the ledger, or undefined if it never was. */
  readonly endAtMs: number | undefined;
}

/** Returns all rollouts in a simulated run. */
export function rolloutsOf(record: HistoryRecord): readonly ObservedRollout[] {
  const posts = Map.groupBy(rolloutPosts(record), ({ intent }) => keyOf(intent));
  const writes = Map.groupBy(record.ledgerWrites, keyOf);
  return [...writes.values()].map((own): ObservedRollout => {
    const { policy, rolloutId, target } = own[0] as LedgerWrite;
    const all = posts.get(keyOf({ policy, rolloutId })) ?? [];
    return {
      policy,
      rolloutId,
      target,
      posts: all,
      upgrades: all.filter(({ intent }) => !intent.isRollback),
      writes: own,
    };
  });
}

export function formerRollout(
  rollouts: readonly ObservedRollout[],
  { policy, target, rolloutId }: Intent | ObservedRollout,
) {
  const numberOf = (id: string) => Number.parseInt(id, 10);
  return rollouts.findLast(
    (other) => other.policy === policy && other.target === target && numberOf(other.rolloutId) < numberOf(rolloutId),
  );
}

function keyOf({ policy, rolloutId }: RolloutKey): string {
  return `${policy}/${rolloutId}`;
}

function rolloutPosts({ posts, state, taskNews }: HistoryRecord): readonly RolloutPost[] {
  const names = new Map(state.collectors.map(({ id, name }) => [id, name]));
  const tasks = new Map(state.tasks.map((task) => [task.id, task]));
  const news = Map.groupBy(taskNews, ({ taskId }) => taskId);
  return posts.flatMap((post): RolloutPost[] => {
    const { intent, known, collectorId, response } = post;
    const policy = known.find(({ metadata }) => metadata.uid === intent?.policy);
    const name = names.get(collectorId);
    if (!intent || !policy || name === undefined) return [];
    const taskId = response?.taskId ?? '';
    return [{ ...post, intent, policy, name, task: tasks.get(taskId), news: news.get(taskId) ?? [] }];
  });
}

export function stageRunsOf({ writes }: ObservedRollout): readonly StageRun[] {
  const runs = new Map<string, StageRun>();
  for (const { stages, atMs } of writes) {
    for (const stage of stages) {
      const key = `${stage.name}/${stage.startedAtMs}`;
      const { startAtMs = atMs, endAtMs } = runs.get(key) ?? {};
      // If a restored backup is older than the end of the stage, the stage ends again later.
      if (endAtMs !== undefined) continue;
      runs.set(key, { stage, startAtMs, endAtMs: stage.endedAtMs === undefined ? undefined : atMs });
    }
  }
  return [...runs.values()];
}

export function stagesAt({ writes }: ObservedRollout, atMs: number): readonly RecordedStage[] {
  return writes.findLast((write) => write.atMs <= atMs)?.stages ?? [];
}

/**
 * Returns the stage that lists the collector, or the last stage if none does. The last stage takes all remaining
 * collectors.
 */
export function stageOf(stages: readonly RecordedStage[], collectorId: string): RecordedStage | undefined {
  return stages.find(({ members }) => members?.includes(collectorId)) ?? stages.find(({ members }) => !members);
}

/** Times at which users retried this rollout. */
export function retriesOf({ policyChanges }: HistoryRecord, { policy, rolloutId }: RolloutKey): readonly number[] {
  const own = policyChanges.filter((change) => change.policy.metadata.uid === policy);
  return own.flatMap((change, index) => {
    const value = change.policy.metadata.annotations[annotations.retry];
    const isNew = value !== own[index - 1]?.policy.metadata.annotations[annotations.retry];
    return isNew && value?.startsWith(`${rolloutId}/`) ? [change.atMs] : [];
  });
}

export function wasApproved(
  { policyChanges }: HistoryRecord,
  { policy, rolloutId }: RolloutKey,
  stage: string,
  atMs: number,
): boolean {
  return policyChanges.some(({ policy: { metadata }, ...change }) => {
    if (metadata.uid !== policy || change.atMs > atMs) return false;
    return isApproval(metadata.annotations[annotations.approve], rolloutId, stage);
  });
}

/** Reports whether an annotation value approves this stage of this rollout. */
export function isApproval(
  value: string | undefined,
  rolloutId: string | undefined,
  stage: string | undefined,
): boolean {
  const approval = parseApproval(value);
  return approval !== undefined && approval.rolloutId === rolloutId && approval.stage === stage;
}

/** Maximum time in ms for a process to act on a changed policy, even if watches fail. */
const heardMs = 60_000;

/** Returns the versions of the policy's manifest that a process might have known at this time. */
export function textsAt(
  { policyChanges }: HistoryRecord,
  uid: string,
  atMs: number,
): readonly CollectorVersionPolicy[] {
  const own = policyChanges.filter((change) => change.policy.metadata.uid === uid && change.atMs <= atMs);
  return own
    .filter((_, index) => (own[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) > atMs - heardMs)
    .map(({ policy }) => policy);
}

export function textsOf({ policyChanges }: HistoryRecord, uid: string): readonly CollectorVersionPolicy[] {
  return policyChanges.filter(({ policy }) => policy.metadata.uid === uid).map(({ policy }) => policy);
}

/** Returns the version that a collector was running at this time. */
export function versionAt({ versions }: HistoryRecord, id: string, atMs: number): string | undefined {
  return versions.get(id)?.findLast(({ sinceMs }) => sinceMs <= atMs)?.version;
}

/** Reports whether another tool, an outage or a removal can change this collector. */
export function isUnsteady(record: HistoryRecord, name: string): boolean {
  return record.plan.deaths.some((death) => death.name === name) || isTouched(record, name);
}

/**
 * Reports whether another tool or a planned event changes this collector. Outages that follow an upgrade do not count.
 */
export function isTouched({ plan: { fleet } }: HistoryRecord, name: string): boolean {
  if (fleet.touched.has(name) || name.startsWith('edge-')) return true;
  return Object.values(fleet.events).some((event) => JSON.stringify(event).includes(`"${name}"`));
}
