/**
 * Oracle for stages (R1 to R4): no collector of a stage is posted before the earlier stages are at the target and have soaked, and
 * before a required approval. No stage takes more members than its size.
 */
import { annotations } from '../../src/api/annotations.ts';
import type { Stage } from '../../src/api/generated/collector-version-policy.ts';
import { parseDuration } from '../../src/base/duration.ts';
import type { SelectorSpec } from './planned-policies.ts';
import type { HistoryRecord } from './record.ts';
import {
  isApproval,
  isTouched,
  isUnsteady,
  type RolloutPost,
  retriesOf,
  rolloutsOf,
  strategiesOf,
  versionAt,
  wasReselected,
  wasRewritten,
} from './rollouts.ts';
import { isHosted, isInSelector, isSelected, shareOf } from './wanted.ts';

export function stageViolations(record: HistoryRecord): string[] {
  return rolloutsOf(record).flatMap((posts) => {
    const forth = posts.filter(({ intent }) => !intent.back);
    const found = forth.flatMap((post, index) => {
      const what = tooSoon(record, post, forth.slice(0, index));
      return what === undefined ? [] : [`${what}: ${post.process} posted ${post.name} at ${post.atMs}`];
    });
    return [...found, ...oversized(record, forth)];
  });
}

function tooSoon(record: HistoryRecord, post: RolloutPost, before: readonly RolloutPost[]): string | undefined {
  const stages = post.policy.spec.strategy.stages ?? [];
  const index = stages.findIndex(({ name }) => name === post.intent.stage);
  const stage = stages[index];
  if (!stage) return undefined;
  if (stage.approval === 'Required' && !wasApproved(record, post, stage)) return `stage: nobody approved ${stage.name}`;
  if (wasReselected(record, post.intent.policy)) return undefined;
  const sinceMs = lastSaidMs(record, post);
  // By then others may have whom a stage has begun with.
  if (post.known.length > 1 && Number.isFinite(sinceMs)) return undefined;
  for (const earlier of stages.slice(0, index)) {
    // What ended before people said something else has ended, whatever becomes of those that were in it.
    const endedMs = (post.intent.stagesEndedMs.get(earlier.name) ?? Number.POSITIVE_INFINITY) - post.wallMs + post.atMs;
    if (endedMs < sinceMs) continue;
    const members = before.filter(({ intent }) => intent.stage === earlier.name);
    const what = unfinished(record, post, members) ?? unsoaked(record, post, members, earlier);
    if (what !== undefined) return `stage: ${stage.name} before ${earlier.name}, of which ${what}`;
  }
  if (retriesOf(record, post.intent).length > 0 || wasRewritten(record, post.intent)) return undefined;
  const missed = neverStarted(record, post, before, stages.slice(0, index));
  return missed && `stage: ${stage.name} before ${missed}, which a stage before it selects`;
}

/** An action of a person may be noticed this late. */
const heardMs = 60_000;

/** Until when an older word of people on this rollout may have held: that it should go on, or another text of its stages. */
function lastSaidMs(record: HistoryRecord, post: RolloutPost): number {
  const { intent, atMs } = post;
  const texts = strategiesOf(record, intent.policy).slice(1);
  const said = [...retriesOf(record, intent), ...texts.map((text) => text.atMs)].filter((one) => one <= atMs);
  return Math.max(Number.NEGATIVE_INFINITY, ...said.map((one) => one + heardMs));
}

function wasApproved({ policyChanges }: HistoryRecord, { intent, atMs }: RolloutPost, { name }: Stage): boolean {
  return policyChanges.some(({ policy: { metadata }, ...change }) => {
    if (metadata.uid !== intent.policy || change.atMs > atMs) return false;
    return isApproval(metadata.annotations[annotations.approve], intent.rolloutId, name);
  });
}

/** Of those that a stage has begun with: who was neither brought to the target nor has used up its attempts. */
function unfinished(record: HistoryRecord, post: RolloutPost, members: readonly RolloutPost[]): string | undefined {
  for (const [id, posts] of Map.groupBy(members, ({ collectorId }) => collectorId)) {
    const { name, policy } = posts.at(-1) as RolloutPost;
    // Refused ones, and those whose answers were lost, are judged by what only the operator knows.
    if (isUnsteady(record, name) || posts.some(({ task }) => !task)) continue;
    if (versionAt(record, id, post.atMs) === post.toVersion) continue;
    if (posts.length > policy.spec.retryPolicy.limit && hasEnded(record, posts, post.atMs)) continue;
    return `${name} is not at the target`;
  }
  return undefined;
}

function hasEnded({ startMs }: HistoryRecord, posts: readonly RolloutPost[], atMs: number): boolean {
  return posts.every(({ task }) => task?.endTime !== null && (task?.endTime ?? 0) - startMs <= atMs);
}

function unsoaked(
  record: HistoryRecord,
  post: RolloutPost,
  members: readonly RolloutPost[],
  stage: Stage,
): string | undefined {
  const { soakDuration } = stage;
  // Who takes over goes by a clock of its own.
  const soakMs = (parseDuration(soakDuration) ?? 0) - 2 * Math.abs(record.plan.skewMs);
  // What a probe made of who was there already is no second arrival.
  const ends = [...Map.groupBy(members, ({ collectorId }) => collectorId)].flatMap(([id, [first]]) => {
    if (!first || isTouched(record, first.name)) return [];
    const reached = record.state.tasks.filter(
      // One of before may be listed elsewhere still when its target comes back: it has been there since.
      ({ collectorId, status, foreign, fromVersion, toVersion }) =>
        collectorId === id && status === 2 && !foreign && fromVersion !== toVersion,
    );
    const times = reached.flatMap(({ toVersion, endTime }) =>
      toVersion === post.toVersion && endTime !== null ? [endTime - record.startMs] : [],
    );
    // Another policy may bring it there later.
    const [time] = times.filter((atMs) => atMs > first.atMs && atMs <= post.atMs);
    return time === undefined ? [] : [time];
  });
  const latestMs = Math.max(...ends);
  if (post.atMs < latestMs + soakMs) return `the last was there at ${latestMs}, and the soak is ${soakDuration}`;
  // With a single build, no list shows collectors at the target (U7).
  if (soakMs <= 0 || toleratesDeath(post, stage) || record.plan.fleet.offer === 'single') return undefined;
  const seenAfterMs = deathSeenAfterMs(record);
  const dead = record.deaths.find(
    ({ name, atMs, untilMs }) =>
      members.some((member) => member.name === name && member.task?.status === 2) &&
      atMs + seenAfterMs < latestMs + soakMs &&
      post.atMs < untilMs,
  );
  return dead && `${dead.name} has been dead since ${dead.atMs}`;
}

/** What a list shows may have been so long ago. */
const listedMs = 6_000;

/** Time after the last sign of life at which a death is known. */
export function deathSeenAfterMs({ plan }: HistoryRecord): number {
  return (parseDuration(plan.scenario.aliveFor ?? '30m') ?? 0) + listedMs;
}

/** Without a tolerance, a death holds its stage. With a tolerance of zero, it stops the rollout. */
export function toleratesDeath({ policy }: RolloutPost, { maxFailures }: Stage): boolean {
  const { failurePolicy } = policy.spec;
  if (failurePolicy?.action === 'Continue') return true;
  const most = [maxFailures, failurePolicy?.maxFailures].filter((one) => one !== undefined);
  return most.length > 0 && !most.includes(0);
}

/** One that runs, is not at the target, and was never posted, although a stage that has ended selects it. */
function neverStarted(
  record: HistoryRecord,
  post: RolloutPost,
  before: readonly RolloutPost[],
  earlier: readonly Stage[],
): string | undefined {
  const { plan, state } = record;
  const started = new Set(before.map(({ collectorId }) => collectorId));
  // Whose it is and who came late only the operator knows.
  if (post.known.length > 1 || Object.keys(plan.fleet.events).length > 0 || plan.fleet.offer === 'single')
    return undefined;
  const { allowDowngrade, maintenance } = post.policy.spec;
  if (allowDowngrade !== true && post.toVersion !== plan.fleet.builds.at(-1)) return undefined;
  const isByZone = maintenance?.windows?.some(({ timeZoneSource }) => timeZoneSource !== undefined) ?? false;
  return state.collectors.find(({ id, name }) => {
    const version = versionAt(record, id, post.atMs);
    if (version === undefined || version === post.toVersion || started.has(id) || isByZone) return false;
    const subject = { name, version };
    if (isHosted(subject) || isUnsteady(record, name) || isSelected(plan, post.policy, subject) !== true) return false;
    return earlier.some(({ selector }) => isInSelector(plan, selector as SelectorSpec | undefined, subject));
  })?.name;
}

/** By the ids alone, and so the same ones after a restart: no more than the largest size that a stage has had are ever started. */
function oversized(record: HistoryRecord, posts: readonly RolloutPost[]): string[] {
  const first = posts[0];
  if (!first || wasReselected(record, first.intent.policy)) return [];
  const { plan, state, policies } = record;
  // What a backup does not know of is at the target, and may be another's by then.
  const mayBeGone = policies.length > 1 || plan.fleet.offer === 'single';
  if (mayBeGone && plan.actions.some(({ kind }) => kind === 'restore')) return [];
  const texts = strategiesOf(record, first.intent.policy).map(({ strategy }) => strategy.stages ?? []);
  const names = new Set(texts.flat().map(({ name }) => name));
  const selected = state.collectors.filter((one) => isSelected(plan, first.policy, one) !== false);
  return [...names].flatMap((name) => {
    const sizes = texts.flat().flatMap((stage) => (stage.name === name ? [stage.size] : []));
    const most = Math.max(
      ...sizes.map((size) => (size === undefined ? Number.POSITIVE_INFINITY : shareOf(size, selected.length))),
    );
    const started = new Set(posts.filter(({ intent }) => intent.stage === name).map(({ collectorId }) => collectorId));
    return started.size > most ? [`stage: ${started.size} were started in ${name}, ${most} are the most`] : [];
  });
}
