/**
 * Checks each policy at the end of a simulated run. The policy must be complete, or its status must say why it is not.
 */
import type { CollectorSnapshot, SimulatorState } from '../../simulator/snapshot.ts';
import { annotations } from '../../src/api/annotations.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import type { HistoryPlan } from './plan.ts';
import type { SelectorSpec } from './planned-policies.ts';
import type { LedgerWrite, PolicyChange, PostRecord, SettingsChange, StatusRecord } from './record.ts';
import { ledgerWrite, type RecordedShards } from './recorded-ledger.ts';
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

/** State of the service, the policies and the ledgers at one point in a simulation. */
export interface Truth {
  /** Time in ms since the start of the simulated run. */
  readonly nowMs: number;
  readonly plan: HistoryPlan;
  readonly state: SimulatorState;
  readonly policies: readonly CollectorVersionPolicy[];
  /** Ledger objects by policy uid. */
  readonly ledgers: ReadonlyMap<string, RecordedShards>;
  readonly posts: readonly PostRecord[];
  readonly statuses: readonly StatusRecord[];
  readonly policyChanges: readonly PolicyChange[];
  readonly settingsChanges: readonly SettingsChange[];
}

export function missingForConvergence(truth: Truth): string[] {
  // Ignores collectors that went offline during an upgrade and never returned, because their upgrades never end.
  const running = truth.state.collectors.filter(({ upgrading, running }) => upgrading && running);
  if (running.length > 0) return [`${running.length} upgrades are running`];
  // If a watch silently stops, the process notices a changed policy only after the watch has timed out.
  if (truth.plan.apiFaults.watches > 0 && lastChangeMs(truth) > truth.nowMs - unheardMs)
    return ['a person changed a policy just now'];
  return truth.policies.flatMap((policy) =>
    missingOfPolicy(truth, policy).map((what) => `${policy.metadata.name}: ${what}`),
  );
}

const unheardMs = 60_000;

function missingOfPolicy(truth: Truth, policy: CollectorVersionPolicy): string[] {
  const { status } = policy;
  if (!status) return ['has no status'];
  if (status.observedGeneration !== policy.metadata.generation) return ['its status belongs to an older generation'];
  const open = openAttempts(truth.ledgers.get(policy.metadata.uid)?.get('head'));
  if (open > 0) return [`${open} attempts are open in its ledger`];
  const verdict = verdictOf(policy);
  const unfinished = missingVerdict(truth, policy, verdict);
  if (unfinished !== undefined) return [`${unfinished}: ${JSON.stringify(verdict)}`];
  if (targetOf(truth.plan, policy) === undefined) return [];
  return missingCounts(truth, policy);
}

interface ReadyVerdict {
  readonly ready: string | undefined;
  readonly reason: string | undefined;
  readonly reconciling: boolean;
  readonly stalled: boolean;
}

function verdictOf({ status }: CollectorVersionPolicy): ReadyVerdict {
  const find = (type: string) => status?.conditions?.find((condition) => condition.type === type);
  const ready = find('Ready');
  return {
    ready: ready?.status,
    reason: ready?.reason,
    reconciling: find('Reconciling')?.status === 'True',
    stalled: find('Stalled')?.status === 'True',
  };
}

function missingVerdict(truth: Truth, policy: CollectorVersionPolicy, verdict: ReadyVerdict): string | undefined {
  const { plan, settingsChanges } = truth;
  const counts = policy.status?.collectors;
  if (isPaused(policy) || settingsChanges.at(-1)?.paused)
    return verdict.ready === 'Unknown' && verdict.reason === 'Paused' ? undefined : 'does not show that it is paused';
  if (targetOf(plan, policy) === undefined) {
    const isRolledBack = verdict.reason === 'RolledBack' && mayBeBeyondTolerance(truth, policy);
    return verdict.stalled && (isRolledBack || verdict.reason === 'VersionNotOffered')
      ? undefined
      : 'does not show that its target is not offered';
  }
  if (verdict.reconciling) return waitsForGood(truth, policy, verdict.reason) ? undefined : 'is not settled';
  if (verdict.ready === 'True') {
    const failed = tolerates(policy) ? 0 : counts?.failed;
    return counts && failed === 0 && counts.newer + counts.pending + counts.inProgress === 0
      ? undefined
      : 'is ready without a reason';
  }
  switch (verdict.reason) {
    case 'RolloutStopped':
      return mayBeBeyondTolerance(truth, policy) || wasInconclusive(truth, policy)
        ? undefined
        : 'is stopped without a reason';
    case 'RolledBack':
      return mayBeBeyondTolerance(truth, policy) ? undefined : 'is stopped without a reason';
    case 'StageInconclusive':
      if (isApprovedLater(plan, policy)) return 'is inconclusive, and a person approves it later';
      return stoppedWithoutUpdate(truth, policy) ? undefined : 'is inconclusive, although a collector ran the target';
    case 'Aborted':
      return wasAborted(truth, policy) ? undefined : 'is aborted without a request';
    case 'CollectorsFailed':
      return isHeldByFailures(policy) || (counts && counts.failed > 0)
        ? undefined
        : 'reports failures that it does not count';
    case 'CollectorsRefused':
      return counts && counts.skipped > 0 ? undefined : 'reports refused collectors that it does not count';
    case 'DowngradeNotAllowed':
      return counts && counts.newer > 0 ? undefined : 'reports newer collectors that it does not count';
    case 'NoCollectorsMatched':
      return (counts?.matched ?? 0) === 0 ? undefined : 'matches collectors';
    case 'Observing':
      return policy.spec.mode === 'Observe' ? undefined : 'does not observe';
    default:
      return 'has an unknown reason';
  }
}

/** Reports whether a simulated user approves every stage that is waiting for approval. */
function isApprovedLater({ actions }: HistoryPlan, { metadata }: CollectorVersionPolicy): boolean {
  return actions.some((one) => one.kind === 'approver' && one.name === metadata.name);
}

/** Reports whether the policy is waiting for a user, or for an event that does not occur in this run. */
function waitsForGood({ plan, state }: Truth, policy: CollectorVersionPolicy, reason: string | undefined): boolean {
  const { metadata, spec, status } = policy;
  const members = state.collectors.filter((collector) => isSelected(plan, policy, collector) !== false);
  const awaitsCollectors = spec.offlinePolicy === 'Wait' && members.some(({ running, alive }) => !running || !alive);
  const comes = isApprovedLater(plan, policy);
  const awaited = status?.stages?.find(({ state: shown }) => shown === 'AwaitingApproval');
  const isApproved = isApproval(metadata.annotations[annotations.approve], status?.rollout?.id, awaited?.name);
  const awaitsPerson = awaited !== undefined && !comes && !isApproved;
  switch (reason) {
    case 'AwaitingApproval': {
      const needsApproval = spec.strategy.stages?.find(({ name }) => name === awaited?.name)?.approval === 'Required';
      return awaitsPerson && (needsApproval || awaited.members === 0);
    }
    case 'WaitingForWindow': {
      const exclusions = spec.maintenance?.exclusions ?? [];
      if (exclusions.some(({ endTime }) => Date.parse(endTime) > state.time + longerThanHistoriesMs)) return true;
      return awaitsPerson || awaitsCollectors;
    }
    case 'RollingOut': {
      const isStaged = status?.stages?.some(({ state: shown }) => shown === 'Progressing');
      return awaitsCollectors && (isStaged || status?.collectors?.pending === 0);
    }
    default:
      return false;
  }
}

function isHeldByFailures({ status }: CollectorVersionPolicy): boolean {
  return status?.stages?.some(({ state }) => state === 'Failed') ?? false;
}

/**
 * Reports whether no collector of the stage ran the target when the rollout stopped. Later, collectors that run the
 * target may return from another policy, but only a user can end the stop (R6).
 */
function stoppedWithoutUpdate({ statuses }: Truth, { metadata, status }: CollectorVersionPolicy): boolean {
  const { time } = status?.rollout?.stopped ?? {};
  const shown = statuses.filter((one) => one.uid === metadata.uid && one.status.rollout?.stopped?.time === time);
  return shown.some((one) => one.status.stages?.some(({ state, updated }) => state === 'Stopped' && updated === 0));
}

/**
 * Reports whether an inconclusive stage stopped the rollout, and the ledger was later restored from a backup made
 * before the stop. The operator then restores the stop from the status, but treats it as a stop for failures, which
 * only a retry can end.
 */
function wasInconclusive({ plan, statuses }: Truth, { metadata, status }: CollectorVersionPolicy): boolean {
  const isRestored = plan.actions.some(({ kind }) => kind === 'restore');
  const stops = statuses.filter(({ uid }) => uid === metadata.uid).map((one) => one.status.rollout?.stopped);
  const { time } = status?.rollout?.stopped ?? {};
  return isRestored && stops.some((stop) => stop?.reason === 'StageInconclusive' && stop.time === time);
}

const longerThanHistoriesMs = 24 * 3_600_000;

/** Reports whether the number of failed upgrades might have exceeded `maxFailures`. */
function mayBeBeyondTolerance({ plan, state, posts, policyChanges }: Truth, policy: CollectorVersionPolicy): boolean {
  // A stopped rollout does not continue if a user later raises `maxFailures`.
  const texts = policyChanges.filter((change) => change.policy.metadata.uid === policy.metadata.uid);
  const hasTolerated = [policy, ...texts.map((change) => change.policy)].some(tolerates);
  const target = targetOf(plan, policy);
  const wasStopped = policy.status?.history?.some(({ targetVersion }) => targetVersion === target);
  return (
    (hasTolerated || wasStopped === true) &&
    (state.tasks.some(({ status }) => status !== 2) ||
      state.collectors.some(({ running, alive }) => !running || !alive) ||
      plan.deaths.length > 0 ||
      plan.fleet.touched.size > 0 ||
      posts.some(({ response }) => response?.status !== 202))
  );
}

/** Reports whether a user aborted this rollout (R9), or an earlier rollout to the same version (R6). */
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
  // A collector that goes offline during the soak can count as failed even if it runs the target version.
  const dead = updated.filter(({ running, alive }) => !running || !alive).length;
  const missing: string[] = [];
  const expect = (what: string, is: number, shouldBe: number) => {
    if (is !== shouldBe) missing.push(`${what} is ${is} instead of ${shouldBe}`);
  };
  // If the service offers only one build, no list shows which collectors run it (U7).
  const seen = plan.fleet.offer !== 'single' || (plan.scenario.list?.atTarget === true && !mayShrink(plan));
  const isRestored = plan.actions.some(({ kind }) => kind === 'restore');
  // A ledger restored from a backup may lack upgrade attempts (U12).
  const isKnown = seen && !isRestored;
  if (isUncertain(truth)) return addsUp(counts) ? [] : ['its counts do not add up'];
  if (seen && !selectsByVersion(policy)) {
    expect('matched', counts.matched, members.length);
    expect('foreign', counts.foreign, members.length - own.length);
    if (counts.updated < updated.length - dead || counts.updated > updated.length)
      expect('updated', counts.updated, updated.length);
  } else if (isKnown && counts.updated < updated.length - dead) {
    missing.push(`updated is ${counts.updated} instead of at least ${updated.length}`);
  } else if (isKnown && counts.matched < members.length) {
    missing.push(`matched is ${counts.matched} instead of at least ${members.length}`);
  }
  // The status must count at least all collectors that the policy upgraded, even if no list shows these collectors (U7,
  // U12).
  const upgraded = isRestored ? 0 : own.filter((collector) => wasUpgraded(truth, policy, collector)).length;
  if (counts.matched < upgraded) missing.push(`matched is ${counts.matched}, although ${upgraded} were upgraded`);
  const shards = truth.ledgers.get(policy.metadata.uid);
  missing.push(...missingStages(policy, shards && ledgerWrite(truth.nowMs, policy.metadata.uid, shards)));
  for (const collector of own) {
    if (collector.version === target) continue;
    const reason = reasonFor(truth, policy, collector, target);
    if (reason === undefined) missing.push(`${collector.name} runs ${collector.version}, without a reason`);
  }
  return missing;
}

function missingStages(policy: CollectorVersionPolicy, write: LedgerWrite | undefined): string[] {
  const { stages = [], collectors = emptyCounts, skippedReasons = [], rollout } = policy.status ?? {};
  const isShown = rollout === undefined || write?.rolloutId === rollout.id;
  const started = isShown ? (write?.stages ?? []) : [];
  const waiting = (policy.spec.strategy.stages ?? []).filter(({ name }) => started.every((one) => one.name !== name));
  const names = [...started, ...waiting].map(({ name }) => name).join();
  if (stages.map(({ name }) => name).join() !== names) return [`has other stages than ${names}`];
  const isRestStarted = started.some(({ members }) => !members);
  // Once the stage that takes all remaining collectors has started, only started stages are counted. A stage that is
  // added to the spec later would choose from the same collectors, and count them a second time.
  const counted = isRestStarted ? stages.slice(0, started.length) : stages;
  const updated = counted.reduce((sum, stage) => sum + stage.updated, 0);
  const unstaged = skippedReasons.find(({ reason }) => reason === 'NoStage')?.count ?? 0;
  const hasRest = takesAll(policy) || isRestStarted;
  return [
    ...(updated > collectors.updated
      ? [`its stages have ${updated} updated collectors, but the policy has ${collectors.updated}`]
      : []),
    ...(unstaged > 0 && hasRest
      ? [`no stage has ${unstaged}, although the last stage takes all remaining collectors`]
      : []),
    ...stages
      .filter((stage, index) => started[index]?.members && started[index].members.length !== stage.members)
      .map(({ name, members }) => `stage ${name} shows ${members} collectors, but the ledger has another number`),
  ];
}

/** Reports whether a planned event removes collectors from the service. */
function mayShrink({ fleet }: HistoryPlan): boolean {
  return Object.keys(fleet.events).filter((name) => name.startsWith('more')).length > 1;
}

/** Reports whether the policy selects collectors by version. An upgrade then changes which collectors are selected. */
function selectsByVersion({ spec }: CollectorVersionPolicy): boolean {
  return (spec.selector as SelectorSpec).matchExpressions !== undefined;
}

/**
 * Reports whether a collector's version can decide which policy owns the collector. This is possible if there are
 * several policies, and some of them select by version.
 */
function isUncertain(truth: Truth): boolean {
  return truth.policies.length > 1 && truth.policies.some(selectsByVersion);
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

function isMember(truth: Truth, policy: CollectorVersionPolicy, collector: CollectorSnapshot): boolean {
  const { plan } = truth;
  if (isHosted(collector) && !plan.scenario.list?.hosted) return false;
  const selected = isSelected(plan, policy, collector);
  if (selected !== undefined) return selected;
  // A policy keeps every collector that it upgraded, even if its selector no longer matches the collector (U12).
  return matchesVersion(policy, collector.version) || wasUpgraded(truth, policy, collector);
}

/**
 * Reports whether the service accepted an upgrade of the collector to the policy's target after the last change to any
 * policy.
 */
function wasUpgraded(truth: Truth, policy: CollectorVersionPolicy, { id }: CollectorSnapshot): boolean {
  const sinceMs = lastChangeMs(truth);
  return truth.posts.some(
    (post) =>
      post.collectorId === id &&
      post.toVersion === targetOf(truth.plan, policy) &&
      post.response?.status === 202 &&
      post.atMs > (sinceMs === 0 ? 0 : sinceMs + settledAfterChangeMs) &&
      post.known.some(({ metadata }) => metadata.uid === policy.metadata.uid) &&
      truth.policies.length === 1,
  );
}

/** Maximum time in ms until every process has noticed a change to a policy. */
export const settledAfterChangeMs = 10_000;

function lastChangeMs({ policyChanges }: Pick<Truth, 'policyChanges'>): number {
  return Math.max(0, ...policyChanges.map(({ atMs }) => atMs));
}

/** Reports whether no policy of higher rank selects the collector (U13). */
function isOwner(truth: Truth, policy: CollectorVersionPolicy, collector: CollectorSnapshot): boolean {
  return truth.policies.every(
    (other) => other === policy || !isMember(truth, other, collector) || compareRank(policy, other) < 0,
  );
}

/**
 * Returns the reason why a collector need not run the target version at the end of the simulation. Returns undefined if
 * there is no such reason.
 */
function reasonFor(
  { plan, state, ledgers, posts, settingsChanges }: Truth,
  policy: CollectorVersionPolicy,
  { id, name, version, alive, running }: CollectorSnapshot,
  target: string,
): string | undefined {
  if (!acts(policy)) return 'the policy is not active';
  if (settingsChanges.at(-1)?.paused) return 'the kill switch is set';
  if (stillReasons.has(verdictOf(policy).reason ?? '')) return 'the policy shows why it waits';
  if (isHeldByFailures(policy)) return 'a failed member holds its stage';
  if (policy.status?.skippedReasons?.some(({ reason }) => reason === 'NoStage') && !takesAll(policy)) return 'no stage';
  if (plan.deaths.some((death) => death.name === name)) return 'it dies';
  if (groupOf(plan, { name, version })?.timeZone === 'Nowhere/Land' && isByZone(policy)) return 'no zone';
  if (isHosted({ name, version })) return 'hosted';
  if (!policy.spec.allowDowngrade && compareVersions(version, target) > 0) return 'newer';
  if (!alive || !running) return 'offline';
  if (plan.fleet.touched.has(name)) return 'another tool upgrades it';
  // If an upgrade request gets no response, the attempt times out. The collector may then be running either the old or
  // the new version (U5).
  const mayBeUnknown =
    plan.apiFaults.requests > 0 ||
    posts.some(({ collectorId, response }) => collectorId === id && (response === undefined || response.status >= 500));
  if (mayBeUnknown && timedOut(ledgers.get(policy.metadata.uid)?.get('head'), id)) return 'its outcome is unknown';
  if (wasRejectedTooOften(plan, posts, id, target)) return 'the service rejected its upgrade ten times';
  const tasks = state.tasks.filter(({ collectorId, foreign }) => collectorId === id && !foreign);
  if (tasks.some((task) => task.toVersion === target && task.status !== 2)) return 'its upgrade failed';
  return undefined;
}

/** Number of rejections without a reason after which a collector counts as refused (U11). */
export const maxRejections = 10;

/** Reports whether the service sends no error codes, so that the operator cannot know why a request was rejected. */
export function rejectsWithoutReason({ scenario }: HistoryPlan): boolean {
  return scenario.errors?.shape === 'empty';
}

/**
 * Reports whether the collector counts as refused, because the service rejected its latest `maxRejections` upgrade
 * requests without a reason (U11).
 */
function wasRejectedTooOften(plan: HistoryPlan, posts: readonly PostRecord[], id: string, target: string): boolean {
  const answers = posts
    .filter((post) => post.collectorId === id && post.toVersion === target && post.response !== undefined)
    .slice(-maxRejections);
  const areRejections = answers.every(({ response }) => response?.status === 400);
  return rejectsWithoutReason(plan) && answers.length === maxRejections && areRejections;
}

/** Reasons of the `Ready` condition that are valid for an incomplete rollout. */
const stillReasons: ReadonlySet<string> = new Set([
  'RolloutStopped',
  'RolledBack',
  'Aborted',
  'StageInconclusive',
  'AwaitingApproval',
  'Soaking',
  'WaitingForWindow',
  'RollingOut',
]);

function takesAll({ spec }: CollectorVersionPolicy): boolean {
  const last = spec.strategy.stages?.at(-1);
  return !last || (last.size === undefined && last.selector === undefined);
}

export function isByZone({ spec }: CollectorVersionPolicy): boolean {
  return spec.maintenance?.windows?.some(({ timeZoneSource }) => timeZoneSource === 'Collector') ?? false;
}

/** Reports whether the collector's last upgrade timed out. The ledger stores a timeout as the number 2. */
function timedOut(head: string | undefined, id: string): boolean {
  if (head === undefined) return false;
  const { ended } = JSON.parse(head) as { ended: readonly (readonly [string, unknown, unknown, unknown, [number]?])[] };
  return ended.some(([collectorId, , , , ending]) => collectorId === id && ending?.[0] === 2);
}

function openAttempts(head: string | undefined): number {
  return head === undefined ? 0 : (JSON.parse(head) as { open: readonly unknown[] }).open.length;
}
