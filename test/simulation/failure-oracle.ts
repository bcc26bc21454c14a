/**
 * Oracle for failures of upgrades (R5). Each stage and each rollout has a tally of ended and failed attempts. When a process knows that a
 * tally exceeds `maxFailures`, it sends no further POST. After that, only attempts in flight and collectors that go offline in a soak can
 * fail.
 */

import type { TaskState } from '../../simulator/snapshot.ts';
import type { HistoryPlan } from './plan.ts';
import type { Disturbance, HistoryRecord, LedgerWrite, TaskNews } from './record.ts';
import { type Rollout, type RolloutPost, retriesOf, rolloutsOf, stageOf, stagesAt } from './rollouts.ts';
import { isSelected } from './wanted.ts';

export function failureViolations(record: HistoryRecord): string[] {
  // When the service answers with the status of another task, a process rejects the answer. Received outcomes then do not show what the
  // process knows.
  if (record.plan.mixedUpTasks > 0) return [];
  const rollouts = rolloutsOf(record);
  return rollouts.flatMap((rollout) => [
    ...doubleCounts(record, rollout),
    ...rollout.upgrades.flatMap((post) => exceeded(record, rollouts, rollout, post)),
  ]);
}

/**
 * Checks that no attempt counts twice. A tally counts at most the attempts of the ledger, or the POSTs to its target if there are more of
 * them, and the collectors that can go offline or be changed by others. The ledger also has attempts that are never sent. It lacks attempts
 * that a restore takes from the status.
 */
function doubleCounts({ plan, posts }: HistoryRecord, { target, writes, rolloutId }: Rollout): string[] {
  const sent = posts.filter(({ toVersion }) => toVersion === target).length;
  const others = plan.deaths.length + plan.fleet.touched.size + silentOf(plan);
  const wrong = writes.find(({ tally, stages, attempts }) => {
    const inStages = stages.reduce((sum, stage) => sum + stage.tally.finished, 0);
    return tally.finished > Math.max(attempts, sent) + others || inStages > tally.finished;
  });
  const words = `failures: the tallies of rollout ${rolloutId} count an attempt twice`;
  return wrong ? [`${words} at ${wrong.atMs}: ${JSON.stringify([wrong.tally, wrong.stages])}`] : [];
}

/** Number of events of the fleet that take collectors offline. */
function silentOf({ fleet }: HistoryPlan): number {
  return Object.values(fleet.events).filter((event) => JSON.stringify(event).includes('"running":false')).length;
}

/** A tally: the attempts that it counts, and its limit. */
interface Scope {
  readonly name: string;
  readonly maxFailures: number | string | undefined;
  readonly posts: readonly RolloutPost[];
}

function exceeded(record: HistoryRecord, rollouts: readonly Rollout[], rollout: Rollout, post: RolloutPost): string[] {
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

/** Number of attempts of earlier rollouts to the same target. Those in flight when the rollout began count in it. */
function takenOver(rollouts: readonly Rollout[], { policy, target, rolloutId }: Rollout): number {
  const former = rollouts.filter(
    (one) => one.policy === policy && one.target === target && one.rolloutId !== rolloutId,
  );
  return former.reduce((sum, { upgrades }) => sum + upgrades.length, 0);
}

/** The tally of the collector's stage until that stage ends, and the tally of the rollout since its last completion. */
function scopesOf(rollout: Rollout, { atMs, policy }: RolloutPost): Scope[] {
  const completedMs = completedAtMs(rollout, atMs);
  const since = rollout.upgrades.filter((one) => one.atMs < atMs && one.atMs >= completedMs);
  const scopes: Scope[] = [{ name: 'the rollout', maxFailures: policy.spec.failurePolicy?.maxFailures, posts: since }];
  if (completedMs > 0) return scopes;
  const stages = stagesAt(rollout, atMs);
  for (const stage of stages) {
    if (stage.endedAtMs !== undefined) continue;
    const posts = since.filter((one) => stageOf(stages, one.collectorId) === stage);
    scopes.push({ name: `stage ${stage.name}`, maxFailures: stage.maxFailures, posts });
  }
  return scopes;
}

/** Time of the last completion before a POST; 0 when there is none. Each completion begins a new tally. */
function completedAtMs({ writes }: Rollout, atMs: number): number {
  const textOf = (write: LedgerWrite | undefined) => `${write?.completedAtMs}/${write?.tally.number}`;
  const isCompletion = (index: number) =>
    writes[index]?.completedAtMs !== undefined && textOf(writes[index]) !== textOf(writes[index - 1]);
  return writes.findLast((write, index) => write.atMs < atMs && isCompletion(index))?.atMs ?? 0;
}

/** Time in ms from evidence to the decision that follows. */
const decidedMs = 10;
/** Time in ms after which received evidence is in the ledger, unless the process ended. */
const writtenMs = 20_000;
/** Time in ms by which a retry of a person may be noticed. The failures that are known by then are forgiven. */
const forgivenMs = 60_000;

/** Known outcomes of earlier attempts when a POST left. */
function outcomesOf(record: HistoryRecord, rollout: Rollout, post: RolloutPost, posts: readonly RolloutPost[]) {
  const retries = retriesOf(record, rollout).filter((atMs) => atMs <= post.atMs);
  const forgivenUntilMs = Math.max(0, ...retries.map((atMs) => atMs + forgivenMs));
  let [failed, succeeded] = [0, 0];
  for (const one of posts) {
    const { task, news, name } = one;
    if (!task || !counts(record, post, name, task)) continue;
    const heard = news.filter((told) => told.atMs > forgivenUntilMs && isKnown(record, post, told));
    const timedOutMs = heard.length === 0 ? timedOutAtMs(record, post, one) : undefined;
    const isTimedOut = timedOutMs !== undefined && timedOutMs > forgivenUntilMs;
    if (heard.some(({ outcome }) => outcome === 'succeeded')) succeeded++;
    else if (isTimedOut || heard.some(({ outcome }) => outcome === 'failed')) failed++;
  }
  return { failed, succeeded, known: posts.length };
}

/** A removed collector does not count, nor does one that reached the target after its time-out (U6). */
function counts({ plan }: HistoryRecord, { policy }: RolloutPost, name: string, task: TaskState): boolean {
  const { endTime, collectorEndTime, fromVersion: version } = task;
  if (plan.fleet.touched.has(name) || isSelected(plan, policy, { name, version }) !== true) return false;
  return endTime === null || collectorEndTime === null || collectorEndTime <= endTime;
}

/** Time in ms for the listing that decides on an attempt without an end, and for the decision. */
const examinedMs = 10_000;

/**
 * Time at which the process of both POSTs knew that an attempt had no end within the limit of U5; undefined when it did not know. Only
 * certain cases count: the process lived all the time, and received a row with another version after the limit.
 */
function timedOutAtMs(record: HistoryRecord, post: RolloutPost, one: RolloutPost): number | undefined {
  const { plan, disturbances, sightings } = record;
  const { answer, process, collectorId, toVersion } = one;
  if (process !== post.process || answer?.status !== 202 || plan.replicas > 1 || plan.apiFaults.requests > 0)
    return undefined;
  if (disturbances.some(({ atMs }) => atMs >= one.atMs && atMs < post.atMs)) return undefined;
  const limitMs = answer.atMs + (plan.settings.openLimitMs ?? 0) + examinedMs;
  const seen = sightings.get(collectorId)?.find(({ sentAtMs }) => sentAtMs >= limitMs);
  if (!seen || seen.version === toVersion || seen.process !== process) return undefined;
  return seen.sentAtMs + examinedMs < post.atMs ? seen.sentAtMs : undefined;
}

/** Whether the process of a POST knew an outcome: it received the outcome itself, or another process had time to write it. */
function isKnown({ plan, disturbances }: HistoryRecord, post: RolloutPost, { process, atMs }: TaskNews): boolean {
  if (process === post.process) return atMs < post.atMs - decidedMs;
  if (plan.apiFaults.requests > 0 || atMs >= post.atMs - writtenMs) return false;
  const isLost = (one: Disturbance) =>
    one.atMs >= atMs && (one.atMs < atMs + writtenMs || (one.what === 'restore' && one.atMs < post.atMs));
  return !disturbances.some(isLost);
}
