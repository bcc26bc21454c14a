/**
 * Checks whether a history has converged: every policy is complete or reports why it cannot be, its status matches the service, and
 * no work is open. Returns the differences as texts.
 */

import type { CollectorState, SimulatorState } from '../../simulator/snapshot.ts';
import { annotations } from '../../src/api/annotations.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { HistoryPlan } from './plan.ts';
import type { PolicyChange, PostRecord, SettingsChange } from './record.ts';
import { isApproval } from './rollouts.ts';
import {
  acts,
  compareRank,
  compareVersions,
  groupOf,
  isHosted,
  isPaused,
  isSelected,
  matchesVersion,
  targetOf,
  tolerates,
} from './wanted.ts';

/** State of the world at one moment. */
export interface Truth {
  /** Ms since the start. */
  readonly nowMs: number;
  readonly plan: HistoryPlan;
  readonly state: SimulatorState;
  readonly policies: readonly CollectorVersionPolicy[];
  /** Heads of ledgers by the policy's uid. */
  readonly ledgers: ReadonlyMap<string, string>;
  readonly posts: readonly PostRecord[];
  readonly policyChanges: readonly PolicyChange[];
  readonly settingsChanges: readonly SettingsChange[];
}

export function missingForConvergence(truth: Truth): string[] {
  // What a silent collector was at, it goes on with when it talks again, which may be never.
  const running = truth.state.collectors.filter(({ upgrading, running }) => upgrading && running);
  if (running.length > 0) return [`${running.length} upgrades are running`];
  // What a person did may be heard as late as a watch is given up that fell silent.
  if (truth.plan.apiFaults.watches > 0 && lastChangeMs(truth) > truth.nowMs - unheardMs)
    return ['somebody changed something just now'];
  return truth.policies.flatMap((policy) =>
    missingOfPolicy(truth, policy).map((what) => `${policy.metadata.name}: ${what}`),
  );
}

const unheardMs = 60_000;

function missingOfPolicy(truth: Truth, policy: CollectorVersionPolicy): string[] {
  const { status } = policy;
  if (!status) return ['has no status'];
  if (status.observedGeneration !== policy.metadata.generation) return ['its status is of an older generation'];
  const open = openAttempts(truth.ledgers.get(policy.metadata.uid));
  if (open > 0) return [`${open} attempts are open in its ledger`];
  const verdict = verdictOf(policy);
  const unsettled = missingVerdict(truth, policy, verdict);
  if (unsettled !== undefined) return [`${unsettled}: ${JSON.stringify(verdict)}`];
  // Without a target nothing is counted.
  if (targetOf(truth.plan, policy) === undefined) return [];
  return missingCounts(truth, policy);
}

interface Verdict {
  readonly ready: string | undefined;
  readonly reason: string | undefined;
  readonly reconciling: boolean;
  readonly stalled: boolean;
}

function verdictOf({ status }: CollectorVersionPolicy): Verdict {
  const find = (type: string) => status?.conditions?.find((condition) => condition.type === type);
  const ready = find('Ready');
  return {
    ready: ready?.status,
    reason: ready?.reason,
    reconciling: find('Reconciling')?.status === 'True',
    stalled: find('Stalled')?.status === 'True',
  };
}

function missingVerdict(truth: Truth, policy: CollectorVersionPolicy, verdict: Verdict): string | undefined {
  const { plan, settingsChanges } = truth;
  const counts = policy.status?.collectors;
  if (isPaused(policy) || settingsChanges.at(-1)?.paused)
    return verdict.ready === 'Unknown' && verdict.reason === 'Paused' ? undefined : 'does not say that it is paused';
  if (targetOf(plan, policy) === undefined) {
    // A way back goes on all the same, and is told.
    const isBack = verdict.reason === 'RolledBack' && mayBeBeyondTolerance(truth, policy);
    return verdict.stalled && (isBack || verdict.reason === 'VersionNotOffered')
      ? undefined
      : 'does not say that its target is not offered';
  }
  if (verdict.reconciling) return waitsForGood(truth, policy, verdict.reason) ? undefined : 'is not settled';
  if (verdict.ready === 'True') {
    const failed = tolerates(policy) ? 0 : counts?.failed;
    return counts && failed === 0 && counts.newer + counts.pending + counts.inProgress === 0
      ? undefined
      : 'is ready for no reason';
  }
  switch (verdict.reason) {
    case 'RolloutStopped':
    case 'RolledBack':
      return mayBeBeyondTolerance(truth, policy) ? undefined : 'is stopped for no reason';
    case 'Aborted':
      return wasAborted(truth, policy) ? undefined : 'is aborted, and nobody asked for it';
    case 'CollectorsFailed':
      return isHeldByFailures(policy) || (counts && counts.failed > 0)
        ? undefined
        : 'tells of failures that it does not count';
    case 'CollectorsRefused':
      return counts && counts.skipped > 0 ? undefined : 'tells of refused ones that it does not count';
    case 'DowngradeNotAllowed':
      return counts && counts.newer > 0 ? undefined : 'tells of newer ones that it does not count';
    case 'NoCollectorsMatched':
      return (counts?.matched ?? 0) === 0 ? undefined : 'matches somebody';
    case 'Observing':
      return policy.spec.mode === 'Observe' ? undefined : 'does not observe';
    default:
      return 'has no verdict that is known here';
  }
}

/** Whether what it waits for comes only by a person, or never within the time of a history. */
function waitsForGood({ plan, state }: Truth, policy: CollectorVersionPolicy, reason: string | undefined): boolean {
  const { metadata, spec, status } = policy;
  const members = state.collectors.filter((collector) => isSelected(plan, policy, collector) !== false);
  const says = status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
  const awaitsCollectors = spec.offlinePolicy === 'Wait' && members.some(({ running, alive }) => !running || !alive);
  const comes = plan.actions.some((one) => one.kind === 'approver' && one.name === metadata.name);
  const isGiven = (stage: string | undefined) =>
    isApproval(metadata.annotations[annotations.approve], status?.rollout?.id, stage);
  const current = spec.strategy.stages?.find(({ name }) => name === status?.rollout?.stage);
  const awaitsPerson = !comes && current?.approval === 'Required' && !isGiven(current.name);
  switch (reason) {
    case 'AwaitingApproval': {
      const [, awaited] = /approval of stage (\S+)/.exec(status?.rollout?.waitingFor ?? '') ?? [];
      const stage = spec.strategy.stages?.find(({ name }) => name === awaited);
      return stage?.approval === 'Required' && !comes && !isGiven(awaited);
    }
    case 'WaitingForWindow': {
      const exclusions = spec.maintenance?.exclusions ?? [];
      if (exclusions.some(({ endTime }) => Date.parse(endTime) > state.time + longerThanHistoriesMs)) return true;
      // No window helps where somebody has to come back, or to approve.
      return awaitsPerson || awaitsCollectors;
    }
    case 'RollingOut': {
      const isLeft = status?.collectors?.pending === 0 && /waiting for \d+ collectors? to come back/.test(says);
      const isAwaited = isLeft || says.includes('waiting for the end of stage');
      return isAwaited && awaitsCollectors;
    }
    default:
      return false;
  }
}

/** Whether a stage with a failure waits for a person, because the spec sets no tolerance. */
function isHeldByFailures(policy: CollectorVersionPolicy): boolean {
  const { conditions = [] } = policy.status ?? {};
  return conditions.some(
    ({ type, message }) => type === 'Stalled' && message.includes('waiting for a person to examine'),
  );
}

const longerThanHistoriesMs = 24 * 3_600_000;

/** Whether there is a failure at all, or something that may have been taken for one. */
function mayBeBeyondTolerance({ plan, state, posts, policyChanges }: Truth, policy: CollectorVersionPolicy): boolean {
  // What was stopped stays so where the tolerance is another afterwards.
  const texts = policyChanges.filter((change) => change.policy.metadata.uid === policy.metadata.uid);
  const hasTolerated = [policy, ...texts.map((change) => change.policy)].some(tolerates);
  const says = policy.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
  return (
    (hasTolerated || says.includes('the last time that this version was rolled out')) &&
    (state.tasks.some(({ status }) => status !== 2) ||
      state.collectors.some(({ running, alive }) => !running || !alive) ||
      plan.deaths.length > 0 ||
      plan.fleet.touched.size > 0 ||
      posts.some(({ answer }) => answer?.status !== 202))
  );
}

/** In the shown rollout (R9), or in an earlier one towards the same version (R6). */
function wasAborted({ policyChanges }: Truth, { metadata, status }: CollectorVersionPolicy): boolean {
  const versionOf = (rolloutId: string | undefined) => rolloutId?.replace(/^\d+-/, '');
  const isAsked = (value: string | undefined) =>
    value !== undefined && versionOf(value.split('/', 1)[0]) === versionOf(status?.rollout?.id);
  return policyChanges.some(
    ({ policy }) => policy.metadata.uid === metadata.uid && isAsked(policy.metadata.annotations[annotations.abort]),
  );
}

function missingCounts(truth: Truth, policy: CollectorVersionPolicy): string[] {
  const { plan } = truth;
  const target = targetOf(plan, policy) as string;
  const counts = policy.status?.collectors ?? emptyCounts;
  const members = truth.state.collectors.filter((collector) => isMember(truth, policy, collector));
  const own = members.filter((collector) => isOwner(truth, policy, collector));
  const updated = own.filter(({ version }) => version === target);
  // A collector that died in the soak of its stage has failed, whatever its row shows.
  const dead = updated.filter(({ running, alive }) => !running || !alive).length;
  const missing: string[] = [];
  const expect = (what: string, is: number, shouldBe: number) => {
    if (is !== shouldBe) missing.push(`${what} is ${is}, in truth ${shouldBe}`);
  };
  // With a single build, who runs it shows in no list (U7); who was never upgraded by us is not known of at all.
  const seen = plan.fleet.offer !== 'single' || (plan.scenario.list?.atTarget === true && !mayShrink(plan));
  const sticky = wasReselected(truth, policy);
  const isRestored = plan.actions.some(({ kind }) => kind === 'restore');
  // Who is selected by a former version is a member by an attempt that a backup may not know of.
  const isKnown = seen && !isRestored;
  if (isUncertain(truth)) return addsUp(counts) ? [] : ['its counts do not add up'];
  if (seen && !sticky) {
    expect('matched', counts.matched, members.length);
    expect('foreign', counts.foreign, members.length - own.length);
    if (counts.updated < updated.length - dead || counts.updated > updated.length)
      expect('updated', counts.updated, updated.length);
  } else if (isKnown && counts.updated < updated.length - dead) {
    missing.push(`updated is ${counts.updated}, in truth at least ${updated.length}`);
  } else if (isKnown && counts.matched < members.length) {
    missing.push(`matched is ${counts.matched}, in truth at least ${members.length}`);
  }
  // Who was upgraded is a member also when no list shows it any more (U7, U12), unless a backup knows nothing of that.
  const upgraded = isRestored ? 0 : own.filter((collector) => wasUpgraded(truth, policy, collector)).length;
  if (counts.matched < upgraded) missing.push(`matched is ${counts.matched}, and ${upgraded} were upgraded`);
  missing.push(...missingStages(policy));
  for (const collector of own) {
    if (collector.version === target) continue;
    const excuse = excuseFor(truth, policy, collector, target);
    if (excuse === undefined)
      missing.push(`${collector.name} runs ${collector.version}, and there is no reason for it`);
  }
  return missing;
}

/** Checks members and updated members of the stages against those of the policy. */
function missingStages(policy: CollectorVersionPolicy): string[] {
  const { stages = [], collectors = emptyCounts, skippedReasons = [] } = policy.status ?? {};
  const specified = policy.spec.strategy.stages ?? [];
  const names = specified.map(({ name }) => name).join();
  if (stages.map(({ name }) => name).join() !== names) return [`has other stages than ${names}`];
  if (specified.length === 0) return [];
  const sum = (count: (stage: (typeof stages)[number]) => number) => stages.reduce((all, one) => all + count(one), 0);
  const members = sum(({ members }) => members);
  const updated = sum(({ updated }) => updated);
  const isShort = takesAll(policy) ? members !== collectors.matched : members > collectors.matched;
  const unstaged = skippedReasons.find(({ reason }) => reason === 'NoStage')?.count ?? 0;
  return [
    ...(isShort ? [`its stages have ${members} members of ${collectors.matched}`] : []),
    ...(updated > collectors.updated ? [`its stages have ${updated} at the target of ${collectors.updated}`] : []),
    ...(unstaged > collectors.matched - members ? [`no stage has ${unstaged}, and its stages have ${members}`] : []),
    ...(policy.status?.rollout === undefined || collectors.updated < collectors.matched
      ? []
      : stages
          .filter(({ state }) => state === 'AwaitingApproval')
          .map(({ name }) => `${name} awaits its approval, and all is done`)),
  ];
}

/** Whether collectors may go again: of several changes to the size of a group a later one may be to a smaller. */
function mayShrink({ fleet }: HistoryPlan): boolean {
  return Object.keys(fleet.events).filter((name) => name.startsWith('more')).length > 1;
}

/** Whether who has been a member stays one although the selector no longer says so (U12). */
function wasReselected({ policyChanges }: Truth, { spec, metadata }: CollectorVersionPolicy): boolean {
  if (spec.selector.matchExpressions !== undefined) return true;
  const own = policyChanges.filter(({ policy }) => policy.metadata.uid === metadata.uid);
  return new Set(own.map(({ policy }) => JSON.stringify([policy.spec.selector, policy.spec.exclude]))).size > 1;
}

/** Where several policies share a fleet, and whose a collector is depends on what it ran when somebody looked, nobody can say. */
function isUncertain(truth: Truth): boolean {
  return truth.policies.length > 1 && truth.policies.some((policy) => wasReselected(truth, policy));
}

export function addsUp(counts: typeof emptyCounts): boolean {
  const { matched, ...parts } = counts;
  return Object.values(parts).reduce((sum, part) => sum + part, 0) === matched;
}

const emptyCounts = {
  matched: 0,
  updated: 0,
  inProgress: 0,
  pending: 0,
  failed: 0,
  offline: 0,
  newer: 0,
  skipped: 0,
  foreign: 0,
};

function isMember(truth: Truth, policy: CollectorVersionPolicy, collector: CollectorState): boolean {
  const { plan } = truth;
  if (isHosted(collector) && !plan.scenario.list?.hosted) return false;
  const selected = isSelected(plan, policy, collector);
  if (selected !== undefined) return selected;
  // Who has an attempt of this rollout stays, whatever its fields become (U12).
  return matchesVersion(policy, collector.version) || wasUpgraded(truth, policy, collector);
}

/** Whether a task of this policy's present target was accepted since it last changed. */
function wasUpgraded(truth: Truth, policy: CollectorVersionPolicy, { id }: CollectorState): boolean {
  const sinceMs = lastChangeMs(truth);
  return truth.posts.some(
    (post) =>
      post.collectorId === id &&
      post.toVersion === targetOf(truth.plan, policy) &&
      post.answer?.status === 202 &&
      post.atMs > (sinceMs === 0 ? 0 : sinceMs + settledAfterChangeMs) &&
      post.known.some(({ metadata }) => metadata.uid === policy.metadata.uid) &&
      truth.policies.length === 1,
  );
}

/** What was posted this long after a change was meant by it. */
export const settledAfterChangeMs = 10_000;

export function lastChangeMs({ policyChanges }: Pick<Truth, 'policyChanges'>): number {
  return Math.max(0, ...policyChanges.map(({ atMs }) => atMs));
}

/** Whether no other policy goes first. Where membership depends on versions, nobody can say. */
function isOwner(truth: Truth, policy: CollectorVersionPolicy, collector: CollectorState): boolean {
  return truth.policies.every(
    (other) => other === policy || !isMember(truth, other, collector) || compareRank(policy, other) < 0,
  );
}

/** Reason why an owned collector does not run the target, or undefined. */
function excuseFor(
  { plan, state, ledgers, posts, settingsChanges }: Truth,
  policy: CollectorVersionPolicy,
  { id, name, version, alive, running }: CollectorState,
  target: string,
): string | undefined {
  if (!acts(policy)) return 'nothing is started';
  if (settingsChanges.at(-1)?.paused) return 'everything is paused';
  if (stillReasons.has(verdictOf(policy).reason ?? '')) return 'it goes no further, and says why';
  if (isHeldByFailures(policy)) return 'a person has to look first';
  if (policy.status?.skippedReasons?.some(({ reason }) => reason === 'NoStage') && !takesAll(policy)) return 'no stage';
  if (plan.deaths.some((death) => death.name === name)) return 'it falls silent now and then';
  if (groupOf(plan, { name, version })?.timeZone === 'Nowhere/Land' && isByZone(policy)) return 'no zone';
  if (isHosted({ name, version })) return 'hosted';
  if (!policy.spec.allowDowngrade && compareVersions(version, target) > 0) return 'newer';
  if (!alive || !running) return 'offline';
  if (plan.fleet.touched.has(name)) return 'others upgrade it, too';
  // Written ahead by somebody who could not go on, or answered by nobody, its probes too: judged by U5 alone.
  const mayBeUnknown =
    plan.apiFaults.requests > 0 ||
    posts.some(({ collectorId, answer }) => collectorId === id && (answer === undefined || answer.status >= 500));
  if (mayBeUnknown && timedOut(ledgers.get(policy.metadata.uid), id)) return 'nobody knows that it had no effect';
  const tasks = state.tasks.filter(({ collectorId, foreign }) => collectorId === id && !foreign);
  if (tasks.some((task) => task.toVersion === target && task.status !== 2)) return 'its upgrade failed';
  return undefined;
}

/** Of verdicts that have been looked into before. */
const stillReasons: ReadonlySet<string> = new Set([
  'RolloutStopped',
  'RolledBack',
  'Aborted',
  'AwaitingApproval',
  'Soaking',
  'WaitingForWindow',
  'RollingOut',
]);

/** Whether the last stage takes all remaining collectors. */
function takesAll({ spec }: CollectorVersionPolicy): boolean {
  const last = spec.strategy.stages?.at(-1);
  return !last || (last.size === undefined && last.selector === undefined);
}

/** Whether windows use the collectors' own zones. */
export function isByZone({ spec }: CollectorVersionPolicy): boolean {
  return spec.maintenance?.windows?.some(({ timeZoneSource }) => timeZoneSource === 'Collector') ?? false;
}

/** Whether the ledger has the collector's last attempt as timed out, the third of its kinds of endings. */
function timedOut(head: string | undefined, id: string): boolean {
  if (head === undefined) return false;
  const { ended } = JSON.parse(head) as { ended: readonly (readonly [string, unknown, unknown, unknown, [number]?])[] };
  return ended.some(([collectorId, , , , ending]) => collectorId === id && ending?.[0] === 2);
}

function openAttempts(head: string | undefined): number {
  return head === undefined ? 0 : (JSON.parse(head) as { open: readonly unknown[] }).open.length;
}
