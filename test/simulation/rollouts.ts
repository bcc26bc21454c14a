/** Rollouts of a history, reconstructed from their requests and the outcomes. */

import type { TaskState } from '../../simulator/snapshot.ts';
import { annotations, parseApproval } from '../../src/api/annotations.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { HistoryRecord, Intent, PostRecord, TaskNews } from './record.ts';

/** A request of a rollout, with its task where it was answered by one. */
export interface RolloutPost extends PostRecord {
  readonly intent: Intent;
  readonly name: string;
  readonly task: TaskState | undefined;
  /** What its process heard of the task. */
  readonly news: readonly TaskNews[];
  /** The policy as its process knew it. */
  readonly policy: CollectorVersionPolicy;
}

/** Requests by rollout, in order. Requests without a known rollout are left out. */
export function rolloutsOf({ posts, state, taskNews }: HistoryRecord): readonly (readonly RolloutPost[])[] {
  const names = new Map(state.collectors.map(({ id, name }) => [id, name]));
  const tasks = new Map(state.tasks.map((task) => [task.id, task]));
  const news = Map.groupBy(taskNews, ({ taskId }) => taskId);
  const whole = posts.flatMap((post): RolloutPost[] => {
    const { intent, known, collectorId, answer } = post;
    const policy = known.find(({ metadata }) => metadata.uid === intent?.policy);
    const name = names.get(collectorId);
    if (!intent || !policy || name === undefined) return [];
    const taskId = answer?.taskId ?? '';
    return [{ ...post, intent, policy, name, task: tasks.get(taskId), news: news.get(taskId) ?? [] }];
  });
  return [...Map.groupBy(whole, ({ intent }) => `${intent.policy}/${intent.rolloutId}`).values()];
}

/** Times of people's retries of this rollout. */
export function retriesOf({ policyChanges }: HistoryRecord, { policy, rolloutId }: Intent): readonly number[] {
  const own = policyChanges.filter((change) => change.policy.metadata.uid === policy);
  return own.flatMap((change, index) => {
    const value = change.policy.metadata.annotations[annotations.retry];
    const isNew = value !== own[index - 1]?.policy.metadata.annotations[annotations.retry];
    return isNew && value?.startsWith(`${rolloutId}/`) ? [change.atMs] : [];
  });
}

/** Whether a value of the annotation approves this stage of this rollout, given once or again. */
export function isApproval(
  value: string | undefined,
  rolloutId: string | undefined,
  stage: string | undefined,
): boolean {
  const approval = parseApproval(value);
  return approval !== undefined && approval.rolloutId === rolloutId && approval.stage === stage;
}

/** Whether the text of the policy's rollouts was ever changed by a person. */
export function wasRewritten(record: HistoryRecord, { policy }: Intent): boolean {
  return strategiesOf(record, policy).length > 1 || wasReselected(record, policy);
}

/** Whether others were ever selected by a person: these go through all stages. */
export function wasReselected({ policyChanges }: HistoryRecord, uid: string): boolean {
  const own = policyChanges.filter(({ policy: { metadata } }) => metadata.uid === uid);
  return new Set(own.map(({ policy: { spec } }) => JSON.stringify([spec.selector, spec.exclude]))).size > 1;
}

type Strategy = CollectorVersionPolicy['spec']['strategy'];

/** The strategies that a policy has had, in order, and since when. */
export function strategiesOf(
  { policyChanges }: HistoryRecord,
  uid: string,
): readonly { readonly strategy: Strategy; readonly atMs: number }[] {
  const own = policyChanges.filter(({ policy: { metadata } }) => metadata.uid === uid);
  const texts = own.map(({ policy: { spec }, atMs }) => ({ strategy: spec.strategy, atMs }));
  return texts.filter(({ strategy }, index) => JSON.stringify(strategy) !== JSON.stringify(texts[index - 1]?.strategy));
}

/** Version of a collector at a time. */
export function versionAt({ versions }: HistoryRecord, id: string, atMs: number): string | undefined {
  return versions.get(id)?.findLast(({ sinceMs }) => sinceMs <= atMs)?.version;
}

/** Collectors that others upgrade, that fall silent, come or go: they may come late to a stage, or leave what they were at. */
export function isUnsteady(record: HistoryRecord, name: string): boolean {
  return record.plan.deaths.some((death) => death.name === name) || isTouched(record, name);
}

/** The same but for those that fall silent only once they have been upgraded. */
export function isTouched({ plan: { fleet } }: HistoryRecord, name: string): boolean {
  if (fleet.touched.has(name) || name.startsWith('edge-')) return true;
  return Object.values(fleet.events).some((event) => JSON.stringify(event).includes(`"${name}"`));
}
