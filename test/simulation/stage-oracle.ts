/** Checks the stages of rollouts: their collectors, start, end and soak. */
import type { Stage } from '../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import { parseDuration } from '../../src/base/duration.ts';
import { isByZone } from './convergence.ts';
import type { SelectorSpec } from './planned-policies.ts';
import type { HistoryRecord, LedgerWrite, RecordedStage } from './record.ts';
import { missingMember } from './recorded-ledger.ts';
import {
  formerRollout,
  isTouched,
  isUnsteady,
  type ObservedRollout,
  rolloutsOf,
  type StageRun,
  stageOf,
  stageRunsOf,
  stagesAt,
  textsAt,
  versionAt,
  wasApproved,
} from './rollouts.ts';
import { undocumentedSuccess } from './status-oracle.ts';
import { compareVersions, isHosted, isInSelector, isSelected, type NamedCollector, shareOf } from './wanted.ts';

export function stageViolations(record: HistoryRecord): string[] {
  const rollouts = rolloutsOf(record);
  return rollouts.flatMap((rollout) => {
    const former = formerRollout(rollouts, rollout);
    const runs = stageRunsOf(rollout);
    return [
      ...changedRecords(record, rollout),
      ...runs.flatMap((run) => wrongStart(record, rollout, run)),
      ...runs.flatMap((run) =>
        run.endAtMs === undefined ? [] : wrongEnd(record, { ...rollout, former }, run, run.endAtMs),
      ),
      ...wrongPosts(record, rollout),
    ];
  });
}

/** A policy's rollout, and the policy's previous rollout to the same target (`former`). */
interface ProvenRollout extends ObservedRollout {
  readonly former: ObservedRollout | undefined;
}

/** Checks that a stage's collectors, limits and soak do not change after its start. */
function changedRecords({ plan }: HistoryRecord, { writes, rolloutId }: ObservedRollout): string[] {
  const found: string[] = [];
  const frozen = new Map<string, RecordedStage>();
  const selected = new Set(writes.filter(({ stages }) => stages.length > 0).map((write) => write.selected));
  if (selected.size > 1)
    found.push(`members: rollout ${rolloutId} counted the selected collectors again: ${[...selected]}`);
  for (const { stages, atMs } of writes) {
    const say = (what: string) => found.push(`${what} at ${atMs} in rollout ${rolloutId}`);
    const members = stages.flatMap((stage) => stage.members ?? []);
    if (new Set(members).size < members.length) say('members: a collector has two stages');
    if (members.includes(missingMember)) say('members: the head names a missing shard');
    const running = stages.slice(0, -1).find(({ endedAtMs }) => endedAtMs === undefined);
    if (running) say(`order: a stage started before the end of stage ${running.name}`);
    for (const stage of stages) {
      const key = `${stage.name}/${stage.startedAtMs}`;
      const before = frozen.get(key) ?? stage;
      frozen.set(key, stage);
      if (frozenText(before) !== frozenText(stage)) say(`members: stage ${stage.name} changed after its start`);
      // If a restored backup is older than the start of the soak, the soak starts again.
      const isRestored = plan.actions.some(({ kind }) => kind === 'restore');
      if (before.updatedAtMs !== undefined && before.updatedAtMs !== stage.updatedAtMs && !isRestored)
        say(`soak: the soak of stage ${stage.name} began again`);
    }
  }
  return found;
}

function frozenText({ members, maxFailures, maxInProgress, soakMs }: RecordedStage): string {
  return JSON.stringify([members, maxFailures, maxInProgress, soakMs]);
}

/** Checks that a stage started only after its approval, and with the collectors that its spec selects. */
function wrongStart(record: HistoryRecord, rollout: ObservedRollout, run: StageRun): string[] {
  const { stage, startAtMs } = run;
  const write = rollout.writes.find(({ atMs }) => atMs === startAtMs) as LedgerWrite;
  const isFirst = rollout.writes.every(({ atMs, stages }) => atMs >= startAtMs || stages.length === 0);
  const problems = textsAt(record, rollout.policy, startAtMs).map((text) => {
    const spec = text.spec.strategy.stages?.find(({ name }) => name === stage.name);
    if (!spec) return `order: stage ${stage.name} is not in the spec`;
    if (spec.approval === 'Required' && !wasApproved(record, rollout, stage.name, startAtMs))
      return `approval: stage ${stage.name} started without its approval`;
    if (stage.members?.length === 0)
      return wasApproved(record, rollout, stage.name, startAtMs) ? undefined : `members: stage ${stage.name} is empty`;
    const what = stage.members && wrongChoice(record, text, spec, write, stage.members, isFirst);
    return what === undefined ? undefined : `members: stage ${stage.name} ${what}`;
  });
  return problems.length === 0 || problems.includes(undefined) ? [] : [`${problems.at(-1)} at ${startAtMs}`];
}

function wrongChoice(
  record: HistoryRecord,
  text: CollectorVersionPolicy,
  { size, selector }: Stage,
  { stages, selected = 0, atMs, target }: LedgerWrite,
  members: readonly string[],
  isFirst: boolean,
): string | undefined {
  const { plan, state, versions } = record;
  const gone = versions.size - state.collectors.length;
  // A collector whose upgrade is running stays selected (U12).
  const inFlight = new Set(record.posts.filter((post) => post.atMs < atMs).map(({ collectorId }) => collectorId));
  const max =
    state.collectors.filter((one) => isSelected(plan, text, one) !== false || inFlight.has(one.id)).length + gone;
  if (isFirst && selected > max) return `counts ${selected} selected collectors instead of at most ${max}`;
  const limit = size === undefined ? Number.POSITIVE_INFINITY : shareOf(size, selected);
  if (members.length > limit) return `has ${members.length} collectors, but its size is ${limit}`;
  const subjects = state.collectors.map(({ id, name }) => ({ id, name, version: versionAt(record, id, atMs) ?? '' }));
  const mayTake = (one: NamedCollector) =>
    !(text.spec.offlinePolicy !== 'Wait' && isOffline(record, one.name, atMs)) &&
    !isHosted(one) &&
    isSelected(plan, text, one) !== false &&
    (!selector || isInSelector(plan, selector as SelectorSpec, one));
  const wrong = subjects.find((one) => members.includes(one.id) && !mayTake(one));
  if (wrong) return `chose ${wrong.name}`;
  const others = new Set(stages.slice(0, -1).flatMap((stage) => stage.members ?? []));
  const free = subjects.filter((one) => !others.has(one.id) && mayTake(one) && isUpgradable(record, text, one, target));
  const min = Math.min(limit, free.length);
  return members.length < min
    ? `has ${members.length} collectors, although at least ${min} can be upgraded`
    : undefined;
}

function isOffline({ plan: { fleet, scenario } }: HistoryRecord, name: string, atMs: number): boolean {
  const returns = Object.values(fleet.events).some(
    (event) => JSON.stringify(event).includes(`"${name}"`) && (parseDuration(`${event.at}`) ?? 0) <= atMs,
  );
  return scenario.collectors?.[name]?.running === false && !returns;
}

function isUpgradable(
  record: HistoryRecord,
  text: CollectorVersionPolicy,
  subject: NamedCollector & { readonly id: string },
  target: string,
): boolean {
  const { id, name, version } = subject;
  if (isShared(record) || isUnsteady(record, name) || isByZone(text)) return false;
  const wasThere = record.versions.get(id)?.[0]?.sinceMs === 0;
  const isOlder = version !== '' && compareVersions(version, target) < 0;
  return wasThere && isOlder && isSelected(record.plan, text, subject) === true;
}

/** Reports whether the simulation has several policies. If so, collectors can move from one policy to another. */
function isShared({ policyChanges }: HistoryRecord): boolean {
  return new Set(policyChanges.map(({ policy }) => policy.metadata.name)).size > 1;
}

function wrongEnd(record: HistoryRecord, rollout: ProvenRollout, run: StageRun, endAtMs: number): string[] {
  const { stage, startAtMs } = run;
  const { members = [] } = stage;
  if (members.length === 0) return [];
  const wasInconclusive = rollout.writes.some(
    ({ stop, atMs }) => stop === 'inconclusive' && isBetween(atMs, startAtMs, endAtMs),
  );
  if (wasInconclusive && wasApproved(record, rollout, stage.name, endAtMs)) return [];
  const hasReached = members.some((id) => (reachedAtMs(record, id, rollout.target) ?? endAtMs) < endAtMs);
  const what = hasReached
    ? (unfinished(record, rollout, run, members) ?? unsoaked(record, rollout, run, members))
    : `inconclusive: none of its ${members.length} collectors reached the target`;
  return what === undefined ? [] : [`${what}, but stage ${stage.name} (${startAtMs} to ${endAtMs}) has ended`];
}

/** Returns a message if a collector still needs an upgrade when its stage ends, otherwise undefined. */
function unfinished(
  record: HistoryRecord,
  { policy, target, upgrades }: ObservedRollout,
  { endAtMs = 0, stage }: StageRun,
  members: readonly string[],
): string | undefined {
  if (isShared(record)) return undefined;
  const { plan, state, startMs } = record;
  const texts = textsAt(record, policy, endAtMs);
  const { retryPolicy } = texts.at(-1)?.spec ?? {};
  const posts = Map.groupBy(
    upgrades.filter(({ atMs }) => atMs <= endAtMs),
    ({ collectorId }) => collectorId,
  );
  const left = state.collectors.find(({ id, name }) => {
    const subject = { id, name, version: versionAt(record, id, endAtMs) ?? '' };
    if (!members.includes(id) || (reachedAtMs(record, id, target) ?? endAtMs) < endAtMs) return false;
    if (!texts.every((text) => isUpgradable(record, text, subject, target))) return false;
    const own = posts.get(id) ?? [];
    if (own.some(({ task }) => !task)) return false;
    const isOver = own.every(({ task }) => (task?.endTime ?? Number.POSITIVE_INFINITY) - startMs <= endAtMs);
    return !isOver || own.length <= (retryPolicy?.limit ?? 0);
  });
  // Ignores collectors that another tool changes, because the other tool may have upgraded them before their stage
  // started.
  return left && !plan.fleet.touched.has(left.name)
    ? `order: ${left.name} of stage ${stage.name} still needs an upgrade`
    : undefined;
}

/** Checks that the soak was long enough, and that no collector went offline during the soak. */
function unsoaked(
  record: HistoryRecord,
  rollout: ProvenRollout,
  { stage, startAtMs, endAtMs = 0 }: StageRun,
  members: readonly string[],
): string | undefined {
  const { plan, deaths, sightings } = record;
  // The soak can be shorter than `soakMs`, because the clocks of two successive leaders may differ.
  const soakMs = stage.soakMs - 2 * Math.abs(plan.skewMs);
  const fromMs = soakFromMs(record, rollout, members, { startAtMs, endAtMs });
  if (soakMs <= 0 || fromMs === undefined) return undefined;
  const untilMs = fromMs + soakMs;
  if (endAtMs < untilMs)
    return `soak: the last collector reached the target at ${fromMs}, and the soak takes ${stage.soakMs} ms`;
  // If the service offers only one build, no list shows which collectors run it, so the checks below are not possible
  // (U7).
  if (plan.fleet.offer === 'single') return undefined;
  const soakedMs = (stage.updatedAtMs ?? 0) - record.startMs + soakMs;
  const isSeen = members.some((id) => sightings.get(id)?.some((one) => isBetween(one.sentAtMs, soakedMs, endAtMs)));
  if (!isSeen) return `soak: no listing was sent between ${soakedMs} and ${endAtMs}`;
  if (toleratesDeath(record, rollout, stage, endAtMs)) return undefined;
  const upgraded = upgradedNames(rollout);
  const upgradedBefore = isUnproven(rollout) ? upgradedNames(rollout.former) : new Set<string>();
  const names = new Map(record.state.collectors.map(({ id, name }) => [name, id]));
  const dead = deaths.find(({ name, atMs, untilMs: returnsMs }) => {
    const isWatched = upgraded.has(name) || (upgradedBefore.has(name) && atMs > startAtMs + 2 * heartbeatMs);
    return (
      members.includes(names.get(name) ?? '') &&
      isWatched &&
      atMs > startAtMs &&
      atMs + deathSeenAfterMs(record) < untilMs &&
      endAtMs < returnsMs
    );
  });
  return dead && `soak: ${dead.name} has been offline since ${dead.atMs}`;
}

const heartbeatMs = 15_000;

function upgradedNames(rollout: ObservedRollout | undefined): ReadonlySet<string> {
  return new Set(rollout?.upgrades.filter(({ task }) => task?.status === 2).map(({ name }) => name));
}

/**
 * Returns the time in ms at which the stage's soak starts, or undefined if there is no soak. The soak starts when the
 * last collector in the stage reaches the target. If the stage upgraded no collectors, it has a soak only if the
 * previous rollout to the target was stopped. This soak starts with the stage.
 */
function soakFromMs(
  record: HistoryRecord,
  rollout: ProvenRollout,
  members: readonly string[],
  { startAtMs, endAtMs }: { readonly startAtMs: number; readonly endAtMs: number },
): number | undefined {
  const { upgrades, target } = rollout;
  const isWithin = (atMs: number | undefined): atMs is number => isBetween(atMs ?? Number.NaN, startAtMs, endAtMs);
  const posts = Map.groupBy(upgrades, ({ collectorId }) => collectorId);
  const times = members.flatMap((id) => {
    const own = posts.get(id) ?? [];
    const isPlain = own.length > 0 && own.every(({ name, task }) => task?.status === 2 && !isTouched(record, name));
    const reachedMs = reachedAtMs(record, id, target);
    return isPlain && isWithin(reachedMs) ? [reachedMs] : [];
  });
  if (times.length > 0) return Math.max(...times);
  return isUnproven(rollout) ? startAtMs : undefined;
}

/** Reports whether the previous rollout to this target was stopped. In that case, each stage requires a soak (R6). */
function isUnproven({ former }: ProvenRollout): boolean {
  return former?.writes.at(-1)?.stop !== undefined;
}

function isBetween(atMs: number, fromMs: number, untilMs: number): boolean {
  return atMs >= fromMs && atMs <= untilMs;
}

/** Returns the time in ms at which the collector first ran the version, or undefined if it never did. */
function reachedAtMs({ versions, state, startMs }: HistoryRecord, id: string, version: string): number | undefined {
  const tasks = state.tasks.filter(
    ({ collectorId, toVersion, status }) =>
      collectorId === id && toVersion === version && (status === 2 || status === undocumentedSuccess),
  );
  const ends = tasks.flatMap(({ collectorEndTime }) => (collectorEndTime === null ? [] : [collectorEndTime - startMs]));
  const runs = versions.get(id)?.filter((run) => run.version === version) ?? [];
  const times = [...ends, ...runs.map(({ sinceMs }) => sinceMs)];
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Maximum time in ms until collector lists show a change to a collector. */
const listedMs = 6_000;

/** Returns the maximum time in ms for the operator to notice that a collector went offline. */
function deathSeenAfterMs({ plan }: HistoryRecord): number {
  return (parseDuration(plan.scenario.aliveFor ?? '30m') ?? 0) + listedMs;
}

/**
 * Reports whether the policy tolerates failures. If so, the rollout can continue after a collector in the stage has
 * gone offline.
 */
function toleratesDeath(
  record: HistoryRecord,
  { policy }: ObservedRollout,
  { maxFailures }: RecordedStage,
  atMs: number,
) {
  return textsAt(record, policy, atMs).some(({ spec: { failurePolicy } }) => {
    if (failurePolicy?.action === 'Continue') return true;
    const limits = [maxFailures, failurePolicy?.maxFailures].filter((one) => one !== undefined);
    return limits.length > 0 && !limits.includes(0);
  });
}

function wrongPosts(record: HistoryRecord, rollout: ObservedRollout): string[] {
  return rollout.upgrades.flatMap(({ atMs, collectorId, name, process }) => {
    const stages = stagesAt(rollout, atMs);
    const hasStages = textsAt(record, rollout.policy, atMs).every(
      ({ spec }) => (spec.strategy.stages ?? []).length > 0,
    );
    if (stageOf(stages, collectorId) || !hasStages) return [];
    return [`order: ${process} posted ${name} at ${atMs}, but no started stage has this collector`];
  });
}
