/**
 * R6: a target that goes and comes back before it was ever complete has proved nothing meanwhile. Where its rollout was stopped, or somebody
 * had failed in it, nobody is posted before a person goes on; and nobody of a later stage is, before an earlier one has soaked anew.
 */
import { parseDuration } from '../../src/base/duration.ts';
import { isKnown } from './failure-oracle.ts';
import type { HistoryRecord, StatusRecord } from './record.ts';
import { isTouched, isUnsteady, type RolloutPost, retriesOf, rolloutsOf, versionAt, wasRewritten } from './rollouts.ts';
import { deathSeenAfterMs, toleratesDeath } from './stage-oracle.ts';
import { isSelected, targetOf } from './wanted.ts';

export function returnViolations(record: HistoryRecord): string[] {
  if (record.plan.actions.some(({ kind }) => kind === 'restore')) return [];
  const rollouts = rolloutsOf(record);
  return rollouts.flatMap((posts) => {
    const found = returnOf(record, rollouts, posts);
    if (!found) return [];
    const forth = posts.filter(({ intent }) => !intent.back);
    return forth.flatMap((post) => {
      const what = forgotten(record, post, found);
      return what === undefined ? [] : [`R6: ${what}: ${post.process} posted ${post.name} at ${post.atMs}`];
    });
  });
}

interface Return {
  /** Of the last rollout towards the same target, which was never complete. */
  readonly earlier: readonly RolloutPost[];
  /** When somebody asked for the target again. */
  readonly askedMs: number;
}

function returnOf(
  record: HistoryRecord,
  rollouts: readonly (readonly RolloutPost[])[],
  [first]: readonly RolloutPost[],
): Return | undefined {
  if (!first || wasRewritten(record, first.intent)) return undefined;
  const { policy, target, rolloutId } = first.intent;
  const before = rollouts.filter(([one]) => {
    const isOfPolicy = one?.intent.policy === policy && one.intent.target === target;
    return isOfPolicy && numberOf(one.intent.rolloutId) < numberOf(rolloutId);
  });
  const earlier = before.at(-1);
  const askedMs = askedAtMs(record, first);
  if (!earlier?.[0] || askedMs === undefined) return undefined;
  const isComplete = ({ uid, status }: StatusRecord) =>
    uid === policy &&
    status.history?.some(
      ({ id, outcome, targetVersion }) =>
        outcome === 'Completed' && targetVersion === target && numberOf(id) < numberOf(rolloutId),
    );
  return record.statuses.some(isComplete) ? undefined : { earlier, askedMs };
}

function numberOf(rolloutId: string): number {
  return Number.parseInt(rolloutId, 10);
}

function askedAtMs({ plan, policyChanges }: HistoryRecord, { intent, atMs }: RolloutPost): number | undefined {
  const own = policyChanges.filter((change) => change.policy.metadata.uid === intent.policy && change.atMs <= atMs);
  const isWanted = (index: number) => targetOf(plan, own[index]?.policy ?? own[0]!.policy) === intent.target;
  return own.findLast((_, index) => index > 0 && isWanted(index) && !isWanted(index - 1))?.atMs;
}

function forgotten(record: HistoryRecord, post: RolloutPost, { earlier, askedMs }: Return): string | undefined {
  const wentOn = retriesOf(record, post.intent).some((atMs) => atMs <= post.atMs);
  if (!wentOn && isLastStopped(record, earlier)) return 'its target had been stopped before it came back';
  const failed = wentOn ? undefined : failedBefore(record, post, earlier, askedMs);
  if (failed !== undefined) return `${failed} had failed before its target came back`;
  return unsoaked(record, post, earlier, askedMs);
}

/** A person may have asked for it to go on, and nothing been shown since. */
const unheardMs = 40_000;

function isLastStopped(record: HistoryRecord, [first]: readonly RolloutPost[]): boolean {
  const { policy, rolloutId } = (first as RolloutPost).intent;
  const last = record.statuses.findLast(({ uid, status }) => uid === policy && status.rollout?.id === rolloutId);
  if (last?.status.rollout?.stopped === undefined) return false;
  return retriesOf(record, (first as RolloutPost).intent).every((atMs) => atMs < last.atMs - unheardMs);
}

/** Whose last attempt was known to have failed by the time that the target was asked for again. */
function failedBefore(
  record: HistoryRecord,
  post: RolloutPost,
  earlier: readonly RolloutPost[],
  askedMs: number,
): string | undefined {
  const { mixedUpTasks, apiFaults } = record.plan;
  // What was heard and could not be written is heard again, perhaps in the rollout that begins by then.
  if (mixedUpTasks > 0 || apiFaults.requests > 0) return undefined;
  if (retriesOf(record, (earlier[0] as RolloutPost).intent).length > 0) return undefined;
  const forth = earlier.filter(({ intent }) => !intent.back);
  for (const posts of Map.groupBy(forth, ({ collectorId }) => collectorId).values()) {
    const { name, collectorId, news, toVersion } = posts.at(-1) as RolloutPost;
    if (isUnsteady(record, name) || versionAt(record, collectorId, post.atMs) === toVersion) continue;
    const asked = { ...post, atMs: askedMs };
    if (news.some((one) => one.outcome === 'failed' && isKnown(record, asked, one))) return name;
  }
  return undefined;
}

/** The stage before that of the post which somebody had been brought to the target in, and has not soaked since. */
function unsoaked(
  record: HistoryRecord,
  post: RolloutPost,
  earlier: readonly RolloutPost[],
  askedMs: number,
): string | undefined {
  const { plan, deaths } = record;
  const { stages = [] } = post.policy.spec.strategy;
  const index = stages.findIndex(({ name }) => name === post.intent.stage);
  if (post.known.length > 1 || plan.fleet.offer === 'single') return undefined;
  for (const stage of stages.slice(0, Math.max(0, index))) {
    const { name, soakDuration } = stage;
    // Who takes over goes by a clock of its own.
    const soakMs = (parseDuration(soakDuration) ?? 0) - 2 * Math.abs(plan.skewMs);
    const there = earlier.filter(
      (one) =>
        one.intent.stage === name &&
        !isTouched(record, one.name) &&
        // Who is at the target may be selected no more.
        isSelected(plan, post.policy, { name: one.name, version: post.toVersion }) === true &&
        [askedMs, post.atMs].every((atMs) => versionAt(record, one.collectorId, atMs) === post.toVersion),
    );
    const soaking = there.find((one) => post.atMs < askedMs + soakMs && !isUnsteady(record, one.name));
    if (soaking) return `${soaking.name} of stage ${name} has not soaked since its target came back at ${askedMs}`;
    if (soakMs <= 0 || toleratesDeath(post, stage) || retriesOf(record, post.intent).length > 0) continue;
    const dead = deaths.find(
      (one) =>
        there.some((member) => member.name === one.name) &&
        one.atMs + deathSeenAfterMs(record) < askedMs + soakMs &&
        post.atMs < one.untilMs,
    );
    if (dead) return `${dead.name} of stage ${name}, which was there before, has been dead since ${dead.atMs}`;
  }
  return undefined;
}
