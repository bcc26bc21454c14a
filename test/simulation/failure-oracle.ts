/**
 * Failures of a rollout are never more than what is tolerated, what was in flight when one more became known, and who fell in a soak:
 * so nothing is posted once a process has heard of one more.
 */
import type { CollectorVersionPolicySpec } from '../../src/api/generated/collector-version-policy.ts';
import type { TaskState } from '../../src/simulator/snapshot.ts';
import type { Disturbance, HistoryRecord, TaskNews } from './record.ts';
import { type RolloutPost, retriesOf, rolloutsOf } from './rollouts.ts';
import { isSelected } from './wanted.ts';

export function failureViolations(record: HistoryRecord): string[] {
  // What a process hears of is not what it asked about, and it does not believe it.
  if (record.plan.mixedUpTasks > 0) return [];
  return rolloutsOf(record).flatMap((posts) => {
    const forth = posts.filter(({ intent }) => !intent.back);
    return forth.flatMap((post) => beyondTolerance(record, post, forth));
  });
}

type Share = number | string;

interface Scope {
  readonly of: string;
  readonly most: Share;
  /** Attempts of the scope, and when it was over: failures that came later are not judged in it. */
  readonly posts: readonly RolloutPost[];
  readonly endedWallMs: number;
}

function beyondTolerance(record: HistoryRecord, post: RolloutPost, posts: readonly RolloutPost[]): string[] {
  const { spec } = post.policy;
  const { failurePolicy } = spec;
  // Nothing is judged once a rollout is complete (R5).
  if (failurePolicy?.action === 'Continue' || post.intent.isComplete) return [];
  const minSamples = failurePolicy?.minSamples ?? 1;
  return scopesOf(spec, post, posts).flatMap(({ of, most, ...scope }) => {
    const { failed, succeeded, known } = heardOf(record, post, scope);
    const isNumber = typeof most === 'number';
    // Of how many at most a share is judged, and of how many at least: what was lost is counted on the safe side.
    const tolerated = isNumber ? most : (Number(most.slice(0, -1)) * known) / 100;
    if (failed <= tolerated || (!isNumber && failed + succeeded < minSamples)) return [];
    return [
      `failures: ${post.process} posted ${post.collectorId} at ${post.atMs}, knowing of ${failed} failures ${of} where ${most} are tolerated`,
    ];
  });
}

function scopesOf(spec: CollectorVersionPolicySpec, { intent }: RolloutPost, posts: readonly RolloutPost[]): Scope[] {
  const scopes: Scope[] = [];
  const whole = spec.failurePolicy?.maxFailures;
  if (whole !== undefined)
    scopes.push({ of: 'of the rollout', most: whole, posts, endedWallMs: Number.POSITIVE_INFINITY });
  for (const { name, maxFailures } of spec.strategy.stages ?? []) {
    if (maxFailures === undefined) continue;
    const endedWallMs = intent.stagesEndedMs.get(name) ?? Number.POSITIVE_INFINITY;
    const members = posts.filter((post) => post.intent.stage === name);
    scopes.push({ of: `of stage ${name}`, most: maxFailures, posts: members, endedWallMs });
  }
  return scopes;
}

/** A decision, and the write of it. */
const decidedMs = 10;
/** What a process has heard stands in the ledger by then, unless the process ends. */
const writtenMs = 20_000;
/** A person's wish to go on may be heard late, and forgives what was known then. */
const forgivenMs = 60_000;

function heardOf(
  record: HistoryRecord,
  post: RolloutPost,
  { posts, endedWallMs }: Pick<Scope, 'posts' | 'endedWallMs'>,
) {
  const forgivenUntilMs = Math.max(0, ...retriesOf(record, post.intent).map((atMs) => atMs + forgivenMs));
  const epochMs = post.wallMs - post.atMs;
  let [failed, succeeded, known] = [0, 0, 0];
  for (const { task, news, name, atMs } of posts) {
    if (atMs >= post.atMs) continue;
    known++;
    if (!task || !counts(record, post, name, task)) continue;
    const heard = news.filter((one) => one.atMs > forgivenUntilMs && isKnown(record, post, one));
    if (heard.some(({ outcome }) => outcome === 'succeeded')) succeeded++;
    if (heard.some((one) => one.outcome === 'failed' && one.atMs + epochMs < endedWallMs)) failed++;
  }
  return { failed, succeeded, known };
}

/** Who is left out by another selection counts no more, nor does who got there after its time-out (U6). */
function counts({ plan }: HistoryRecord, { policy }: RolloutPost, name: string, task: TaskState): boolean {
  const { endTime, collectorEndTime, fromVersion: version } = task;
  if (plan.fleet.touched.has(name) || isSelected(plan, policy, { name, version }) !== true) return false;
  return endTime === null || collectorEndTime === null || collectorEndTime <= endTime;
}

/** Whether the process that posted knew of it: it heard of it itself, or the one before it had the time to write it down. */
function isKnown({ plan, disturbances }: HistoryRecord, post: RolloutPost, { process, atMs }: TaskNews): boolean {
  if (process === post.process) return atMs < post.atMs - decidedMs;
  if (plan.apiFaults.requests > 0 || atMs >= post.atMs - writtenMs) return false;
  const isLost = (one: Disturbance) =>
    one.atMs >= atMs && (one.atMs < atMs + writtenMs || (one.what === 'restore' && one.atMs < post.atMs));
  return !disturbances.some(isLost);
}
