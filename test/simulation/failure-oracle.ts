/** Checks that no process starts an upgrade when it knows of more failures than `maxFailures` allows (R5). */
import type { TaskState } from '../../simulator/snapshot.ts';
import type { HistoryPlan } from './plan.ts';
import type { Disturbance, HistoryRecord, LedgerWrite, TaskNews } from './record.ts';
import { type ObservedRollout, type RolloutPost, retriesOf, rolloutsOf, stageOf, stagesAt } from './rollouts.ts';
import { isSelected } from './wanted.ts';

export function failureViolations(record: HistoryRecord): string[] {
  // Skips the check if the service mixes up task statuses, because the test then cannot tell which failures a process
  // knows of.
  if (record.plan.mixedUpTasks > 0) return [];
  const rollouts = rolloutsOf(record);
  return rollouts.flatMap((rollout) => [
    ...doubleCounts(record, rollout),
    ...rollout.upgrades.flatMap((post) => exceeded(record, rollouts, rollout, post)),
  ]);
}

/** Checks that no upgrade attempt is counted twice. */
function doubleCounts({ plan, posts }: HistoryRecord, { target, writes, rolloutId }: ObservedRollout): string[] {
  const sent = posts.filter(({ toVersion }) => toVersion === target).length;
  const others = plan.deaths.length + plan.fleet.touched.size + silentOf(plan);
  const wrong = writes.find(({ tally, stages, attempts }) => {
    const inStages = stages.reduce((sum, stage) => sum + stage.tally.finished, 0);
    return tally.finished > Math.max(attempts, sent) + others || inStages > tally.finished;
  });
  const words = `failures: rollout ${rolloutId} counts an attempt twice`;
  return wrong ? [`${words} at ${wrong.atMs}: ${JSON.stringify([wrong.tally, wrong.stages])}`] : [];
}

function silentOf({ fleet }: HistoryPlan): number {
  return Object.values(fleet.events).filter((event) => JSON.stringify(event).includes('"running":false')).length;
}

/** Upgrades that count towards the same `maxFailures`: the upgrades of one stage, or of the whole rollout. */
interface FailureScope {
  readonly name: string;
  readonly maxFailures: number | string | undefined;
  readonly posts: readonly RolloutPost[];
}

function exceeded(
  record: HistoryRecord,
  rollouts: readonly ObservedRollout[],
  rollout: ObservedRollout,
  post: RolloutPost,
): string[] {
  const { failurePolicy } = post.policy.spec;
  if (failurePolicy?.action === 'Continue') return [];
  const others = takenOver(rollouts, rollout);
  return scopesOf(rollout, post).flatMap(({ name, maxFailures, posts }) => {
    if (maxFailures === undefined) return [];
    const { failed, succeeded, known } = outcomesOf(record, rollout, post, posts);
    const isNumber = typeof maxFailures === 'number';
    const limit = isNumber ? maxFailures : (Number(maxFailures.slice(0, -1)) * (known + others)) / 100;
    if (failed <= limit || (!isNumber && failed + succeeded < (failurePolicy?.minSamples ?? 1))) return [];
    return [
      `failures: ${post.process} posted ${post.name} at ${post.atMs} after ${failed} failures of ${name}, maxFailures is ${maxFailures}`,
    ];
  });
}

/**
 * Returns the number of upgrades by earlier rollouts to the same target. Some of these upgrades may still be running.
 */
function takenOver(rollouts: readonly ObservedRollout[], { policy, target, rolloutId }: ObservedRollout): number {
  const former = rollouts.filter(
    (one) => one.policy === policy && one.target === target && one.rolloutId !== rolloutId,
  );
  return former.reduce((sum, { upgrades }) => sum + upgrades.length, 0);
}

/** Returns the rollout and its running stages, each with the upgrades that count towards its `maxFailures`. */
function scopesOf(rollout: ObservedRollout, { atMs, policy }: RolloutPost): FailureScope[] {
  const completedMs = completedAtMs(rollout, atMs);
  const since = rollout.upgrades.filter((one) => one.atMs < atMs && one.atMs >= completedMs);
  const scopes: FailureScope[] = [
    { name: 'the rollout', maxFailures: policy.spec.failurePolicy?.maxFailures, posts: since },
  ];
  const stages = stagesAt(rollout, atMs);
  for (const stage of stages) {
    if (stage.endedAtMs !== undefined) continue;
    const posts = since.filter((one) => stageOf(stages, one.collectorId) === stage);
    scopes.push({ name: `stage ${stage.name}`, maxFailures: stage.maxFailures, posts });
  }
  return scopes;
}

/**
 * Returns the time in ms at which the rollout last completed, which also reset its failure count. Returns 0 if the
 * rollout never completed.
 */
function completedAtMs({ writes }: ObservedRollout, atMs: number): number {
  const textOf = (write: LedgerWrite | undefined) => `${write?.completedAtMs}/${write?.tally.number}`;
  const isCompletion = (index: number) =>
    writes[index]?.completedAtMs !== undefined && textOf(writes[index]) !== textOf(writes[index - 1]);
  return writes.findLast((write, index) => write.atMs < atMs && isCompletion(index))?.atMs ?? 0;
}

/** Maximum time in ms for a process to evaluate the outcome of an upgrade. */
const decidedMs = 10;
/** Maximum time in ms for a process to write the outcome of an upgrade to the ledger. */
const writtenMs = 20_000;
/** Maximum time in ms for a process to notice that a user retried the rollout. */
const retrySeenMs = 60_000;

/** Counts the outcomes of earlier upgrade attempts that the process knew when it started this upgrade. */
function outcomesOf(record: HistoryRecord, rollout: ObservedRollout, post: RolloutPost, posts: readonly RolloutPost[]) {
  const retries = retriesOf(record, rollout).filter((atMs) => atMs <= post.atMs);
  const ignoredUntilMs = Math.max(0, ...retries.map((atMs) => atMs + retrySeenMs));
  let [failed, succeeded] = [0, 0];
  for (const one of posts) {
    const { task, news, name } = one;
    if (!task || !counts(record, post, name, task)) continue;
    const heard = news.filter((reported) => reported.atMs > ignoredUntilMs && isKnown(record, post, reported));
    const timedOutMs = heard.length === 0 ? timedOutAtMs(record, post, one) : undefined;
    const isTimedOut = timedOutMs !== undefined && timedOutMs > ignoredUntilMs;
    if (heard.some(({ outcome }) => outcome === 'succeeded')) succeeded++;
    else if (isTimedOut || heard.some(({ outcome }) => outcome === 'failed')) failed++;
  }
  return { failed, succeeded, known: posts.length };
}

/**
 * Reports whether an upgrade counts towards `maxFailures`. An upgrade does not count in any of these cases: another
 * tool or a user also changes the collector; the policy does not select the collector; or the upgrade took effect after
 * its task had ended (U6).
 */
function counts({ plan }: HistoryRecord, { policy }: RolloutPost, name: string, task: TaskState): boolean {
  const { endTime, collectorEndTime, fromVersion: version } = task;
  if (plan.fleet.touched.has(name) || isSelected(plan, policy, { name, version }) !== true) return false;
  return endTime === null || collectorEndTime === null || collectorEndTime <= endTime;
}

/**
 * Maximum time in ms from a collector list that shows the old version until a process marks the attempt as timed out.
 */
const examinedMs = 10_000;

/**
 * Returns the time in ms at which the process requested the collector list that shows the timeout of the attempt (U5).
 * Returns undefined if the process may not have noticed the timeout yet.
 */
function timedOutAtMs(record: HistoryRecord, post: RolloutPost, one: RolloutPost): number | undefined {
  const { plan, disturbances, sightings } = record;
  const { response, process, collectorId, toVersion } = one;
  if (process !== post.process || response?.status !== 202 || plan.replicas > 1 || plan.apiFaults.requests > 0)
    return undefined;
  if (disturbances.some(({ atMs }) => atMs >= one.atMs && atMs < post.atMs)) return undefined;
  const limitMs = response.atMs + (plan.settings.openLimitMs ?? 0) + examinedMs;
  const seen = sightings.get(collectorId)?.find(({ sentAtMs }) => sentAtMs >= limitMs);
  if (!seen || seen.version === toVersion || seen.process !== process) return undefined;
  return seen.sentAtMs + examinedMs < post.atMs ? seen.sentAtMs : undefined;
}

/**
 * Reports whether the process knew this status of an upgrade task. Either the process received the status itself, or it
 * had time to read the status from the ledger.
 */
function isKnown({ plan, disturbances }: HistoryRecord, post: RolloutPost, { process, atMs }: TaskNews): boolean {
  if (process === post.process) return atMs < post.atMs - decidedMs;
  if (plan.apiFaults.requests > 0 || atMs >= post.atMs - writtenMs) return false;
  const isLost = (one: Disturbance) =>
    one.atMs >= atMs && (one.atMs < atMs + writtenMs || (one.what === 'restore' && one.atMs < post.atMs));
  return !disturbances.some(isLost);
}
