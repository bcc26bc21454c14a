/**
 * R6: a target that goes and comes back before its rollout completed. If its rollout was stopped, nothing is posted before a person retries.
 * If not, no collector of a later stage is posted before the earlier stages have soaked again.
 */
import { parseDuration } from '../../src/base/duration.ts';
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
    const shownMs = startShownMs(record, post, name);
    const dead = deaths.find(
      (one) =>
        there.some((member) => member.name === one.name) &&
        one.atMs > shownMs + 2 * heartbeatMs &&
        one.atMs + deathSeenAfterMs(record) < askedMs + soakMs &&
        post.atMs < one.untilMs,
    );
    if (dead) return `${dead.name} of stage ${name}, which was at the target before, died at ${dead.atMs}`;
  }
  return undefined;
}

/** Longest time between two signs of life of a collector. */
const heartbeatMs = 15_000;

/** When status first showed that this stage had started in the rollout of the post. A member that died before was not watched. */
function startShownMs({ statuses }: HistoryRecord, { intent }: RolloutPost, stage: string): number {
  const shows = ({ uid, status }: StatusRecord) =>
    uid === intent.policy &&
    status.rollout?.id === intent.rolloutId &&
    status.stages?.some(({ name, startTime }) => name === stage && startTime !== undefined);
  return statuses.find(shows)?.atMs ?? Number.POSITIVE_INFINITY;
}
