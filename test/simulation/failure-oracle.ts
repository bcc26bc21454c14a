/**
 * Oracle for failure tolerances (R5): after a process knows that a tolerance is exceeded, it sends no further POST. Failures beyond
 * it come only from attempts in flight and from deaths in a soak.
 */

import type { TaskState } from '../../simulator/snapshot.ts';
import type { CollectorVersionPolicySpec } from '../../src/api/generated/collector-version-policy.ts';
import type { Disturbance, HistoryRecord, PolicyChange, TaskNews } from './record.ts';
import { type RolloutPost, retriesOf, rolloutsOf } from './rollouts.ts';
import { isSelected, targetOf } from './wanted.ts';

export function failureViolations(record: HistoryRecord): string[] {
  // What a process hears of is not what it asked about, and it does not believe it.
  if (record.plan.mixedUpTasks > 0) return [];
  const rollouts = rolloutsOf(record);
  return rollouts.flatMap((posts) => {
    const forth = posts.filter(({ intent }) => !intent.back);
    const others = takenOver(record, rollouts, forth);
    return forth.flatMap((post) => beyondTolerance(record, post, forth, others));
  });
}

/** How many attempts of earlier rollouts to the same target this one may have taken over: what was in flight when the target went (R6). */
function takenOver(
  { plan, policyChanges }: HistoryRecord,
  rollouts: readonly (readonly RolloutPost[])[],
  [first]: readonly RolloutPost[],
): number {
  if (!first) return 0;
  const { policy: uid, target, rolloutId } = first.intent;
  const isAway = ({ policy, atMs }: PolicyChange) =>
    policy.metadata.uid === uid && atMs < first.atMs && targetOf(plan, policy) !== target;
  const awayMs = policyChanges.findLast(isAway)?.atMs ?? 0;
  const former = rollouts.flat().filter(({ intent, atMs }) => {
    const isSame = intent.policy === uid && intent.target === target && intent.rolloutId !== rolloutId;
    return isSame && !intent.back && atMs < first.atMs;
  });
  return former.filter(({ news }) => news.every(({ atMs }) => atMs > awayMs)).length;
}

type Share = number | string;

interface Scope {
  readonly of: string;
  readonly most: Share;
  /** Attempts of the scope, and its end. Later failures do not count in it. */
  readonly posts: readonly RolloutPost[];
  readonly endedWallMs: number;
}

function beyondTolerance(
  record: HistoryRecord,
  post: RolloutPost,
  posts: readonly RolloutPost[],
  others: number,
): string[] {
  const { spec } = post.policy;
  const { failurePolicy } = spec;
  if (failurePolicy?.action === 'Continue') return [];
  const minSamples = failurePolicy?.minSamples ?? 1;
  return scopesOf(spec, post, posts).flatMap(({ of, most, ...scope }) => {
    const { failed, succeeded, known } = heardOf(record, post, scope);
    const isNumber = typeof most === 'number';
    // Of how many at most a share is judged, and of how many at least: what was lost is counted on the safe side.
    const tolerated = isNumber ? most : (Number(most.slice(0, -1)) * (known + others)) / 100;
    if (failed <= tolerated || (!isNumber && failed + succeeded < minSamples)) return [];
    return [
      `failures: ${post.process} posted ${post.collectorId} at ${post.atMs}, knowing of ${failed} failures ${of} where ${most} are tolerated`,
    ];
  });
}

function scopesOf(spec: CollectorVersionPolicySpec, { intent }: RolloutPost, posts: readonly RolloutPost[]): Scope[] {
  const scopes: Scope[] = [];
  const endless = { endedWallMs: Number.POSITIVE_INFINITY };
  const whole = spec.failurePolicy?.maxFailures;
  // Late joiners of a complete rollout have a tally of their own, which begins again with each completion (R5).
  const since = posts.filter((one) => one.intent.completions === intent.completions);
  const own = intent.isComplete ? since.filter((one) => one.intent.isComplete) : posts;
  if (whole !== undefined) scopes.push({ of: 'of the rollout', most: whole, posts: own, ...endless });
  for (const { name, maxFailures: most } of spec.strategy.stages ?? []) {
    if (most === undefined) continue;
    const late = since.filter((one) => one.intent.lateTo === name);
    scopes.push({ of: `of those late to stage ${name}`, most, posts: late, ...endless });
    if (intent.isComplete) continue;
    const endedWallMs = intent.stagesEndedMs.get(name) ?? Number.POSITIVE_INFINITY;
    const members = posts.filter((one) => one.intent.stage === name);
    scopes.push({ of: `of stage ${name}`, most, posts: members, endedWallMs });
  }
  return scopes;
}

/** A decision, and the write of it. */
const decidedMs = 10;
/** Evidence that a process received is in the ledger by then, unless the process ends. */
const writtenMs = 20_000;
/** A person's retry may be noticed late, and forgives the failures known until then. */
const forgivenMs = 60_000;

function heardOf(
  record: HistoryRecord,
  post: RolloutPost,
  { posts, endedWallMs }: Pick<Scope, 'posts' | 'endedWallMs'>,
) {
  const retries = retriesOf(record, post.intent).filter((atMs) => atMs <= post.atMs);
  const forgivenUntilMs = Math.max(0, ...retries.map((atMs) => atMs + forgivenMs));
  const epochMs = post.wallMs - post.atMs;
  let [failed, succeeded, known] = [0, 0, 0];
  for (const one of posts) {
    const { task, news, name, atMs } = one;
    if (atMs >= post.atMs) continue;
    known++;
    if (!task || !counts(record, post, name, task)) continue;
    const heard = news.filter((told) => told.atMs > forgivenUntilMs && isKnown(record, post, told));
    if (heard.some(({ outcome }) => outcome === 'succeeded')) succeeded++;
    const failures = heard.filter(({ outcome }) => outcome === 'failed').map((told) => told.atMs);
    const timedOutMs = heard.length === 0 ? timedOutAtMs(record, post, one) : undefined;
    if (timedOutMs !== undefined && timedOutMs > forgivenUntilMs) failures.push(timedOutMs);
    if (failures.some((failedMs) => failedMs + epochMs < endedWallMs)) failed++;
  }
  return { failed, succeeded, known };
}

/** Who is left out by another selection counts no more, nor does who got there after its time-out (U6). */
function counts({ plan }: HistoryRecord, { policy }: RolloutPost, name: string, task: TaskState): boolean {
  const { endTime, collectorEndTime, fromVersion: version } = task;
  if (plan.fleet.touched.has(name) || isSelected(plan, policy, { name, version }) !== true) return false;
  return endTime === null || collectorEndTime === null || collectorEndTime <= endTime;
}

/** A decision that waits for a listing, which may take its time, and the clocks of both. */
const lookedAtMs = 10_000;

/**
 * When the process that posted both knew that one had no end within U5's limit: it lived all the time, and was shown the collector at another
 * version after that. Undefined where it did not know.
 */
function timedOutAtMs(record: HistoryRecord, post: RolloutPost, one: RolloutPost): number | undefined {
  const { plan, disturbances, sightings } = record;
  const { answer, process, collectorId, toVersion } = one;
  if (process !== post.process || answer?.status !== 202 || plan.replicas > 1 || plan.apiFaults.requests > 0)
    return undefined;
  if (disturbances.some(({ atMs }) => atMs >= one.atMs && atMs < post.atMs)) return undefined;
  const limitMs = answer.atMs + (plan.settings.openLimitMs ?? 0) + lookedAtMs;
  const seen = sightings.get(collectorId)?.find(({ sentAtMs }) => sentAtMs >= limitMs);
  if (!seen || seen.version === toVersion || seen.process !== process) return undefined;
  return seen.sentAtMs + lookedAtMs < post.atMs ? seen.sentAtMs : undefined;
}

/** Whether the process that posted knew of it: it heard of it itself, or the one before it had the time to write it down. */
export function isKnown(
  { plan, disturbances }: HistoryRecord,
  post: RolloutPost,
  { process, atMs }: TaskNews,
): boolean {
  if (process === post.process) return atMs < post.atMs - decidedMs;
  if (plan.apiFaults.requests > 0 || atMs >= post.atMs - writtenMs) return false;
  const isLost = (one: Disturbance) =>
    one.atMs >= atMs && (one.atMs < atMs + writtenMs || (one.what === 'restore' && one.atMs < post.atMs));
  return !disturbances.some(isLost);
}
