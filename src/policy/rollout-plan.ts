/**
 * What a policy would do, seen by somebody who only looks: its stages with their members, who is left out, and how long it takes.
 *
 * It asks the engine's own `decide` what it would do if nobody had paused it, and carries out none of it. Time and requests are the
 * `forecast`'s. Pure: it reads what was gathered and changes nothing.
 */

import { annotations } from '../api/annotations.ts';
import type {
  CollectorVersionPolicySpec,
  CollectorVersionPolicyStatus,
} from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { parseDuration } from '../base/duration.ts';
import { pausedByOf } from '../controller/pauses.ts';
import { type Decision, decide } from './decide.ts';
import { type Forecast, forecast } from './forecast.ts';
import type { ForecastMembers } from './forecast-line.ts';
import type { Ready } from './gather.ts';
import type { Ledger } from './ledger.ts';
import {
  emptyStage,
  type LeftOut,
  membersWithoutStages,
  type PlannedCollector,
  type PlannedMembers,
  planMembers,
  type StageMembers,
} from './planned-members.ts';
import { type StageAhead, stagesAhead } from './rollout-ahead.ts';
import { needsApproval, progressStages, type StageProgress, soakMsOf } from './stage-progress.ts';
import { placesOf } from './stages.ts';
import { type Counts, totalOf } from './standing-counts.ts';
import { maxInProgressOf } from './start-rules.ts';
import type { Heir } from './target.ts';

export interface RolloutPlan {
  readonly rolloutId: string;
  /** Whether the rollout has not begun yet. */
  readonly begins: boolean;
  /** Whether all was at the target once: who is left comes late. */
  readonly isComplete: boolean;
  readonly target: string;
  /** The build that becomes the target by growing older, unless another comes before. */
  readonly heir: Heir | undefined;
  readonly matched: number;
  /** In their order; a policy without stages has one, without a name. */
  readonly stages: readonly PlannedStage[];
  readonly leftOut: readonly LeftOut[];
  /** At once: `strategy.maxInProgress` as a number. */
  readonly maxInProgress: number;
  readonly requestsPerSecond: number;
  readonly upgrade: UpgradeLength;
  /** Undefined where nothing is started any more. */
  readonly forecast: Forecast | undefined;
  /** What keeps it from starting anything, or that a person has to look into, in whole sentences. */
  readonly hindrances: readonly string[];
}

export interface PlannedStage {
  readonly name: string | undefined;
  readonly counts: Counts;
  readonly members: number;
  readonly upgrades: readonly PlannedCollector[];
  /** Of the stage's own; undefined where it has none. */
  readonly maxInProgress: number | undefined;
  readonly soakMs: number;
  /** `needed`: those who are to be upgraded wait for a person, once its turn has come. */
  readonly approval: 'none' | 'needed' | 'given';
  /** `ended`: whoever is left in it is upgraded at once. A rollout that begins has none under way. */
  readonly state: 'ahead' | 'underWay' | 'ended';
  /** Wall ms, as if approvals were given at once; undefined where it never comes, or has been. */
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
  /** Whether those times wait for a person, too. */
  readonly afterApproval: boolean;
}

/** How long one upgrade takes, and how that is known. */
export interface UpgradeLength {
  readonly ms: number;
  readonly source: 'given' | 'measured' | 'assumed';
}

const assumedUpgradeMs = 3 * 60_000;

/** @param upgradeMs how long one upgrade takes; undefined: what was measured, else an assumption */
export function planRollout(policy: CollectorVersionPolicy, seen: Ready, upgradeMs?: number): RolloutPlan {
  const { ledger, bound, input, heir } = seen;
  const { wallMs } = input.now;
  const free = unhindered(policy);
  const observation = { ...input.observation, pausedForAll: undefined, policiesHold: undefined };
  const decision = decide({ ...input, policy: free, observation });
  const { stop } = decision.header;
  const found = planMembers(seen, decision, wallMs);
  const members = stop?.kind === 'rollback' ? withoutUpgrades(found) : found;
  const progress = progressOf(free.spec, seen, decision, members);
  const upgrade = upgradeLength(ledger, policy.status, upgradeMs);
  const maxInProgress = maxInProgressOf(policy.spec, members.matched);
  const { requestsPerSecond } = bound.account;
  const stages = stagesOf(free.spec, decision, members, progress, seen.began);
  const course = stagesAhead({
    spec: free.spec,
    header: decision.header,
    progress,
    wallMs,
    leftIn: (stage) => {
      const { upgrades, counts, underWay } = members.stages.get(stage) ?? emptyStage();
      return { groups: groupsOf(upgrades), counts, underWay };
    },
  });
  const said = stop
    ? undefined
    : forecast({
        stages: course.map(({ stage }) => stage),
        maxInProgress,
        requestsPerSecond,
        upgradeMs: upgrade.ms,
        isMeasured: upgrade.source === 'measured',
        calendar: input.calendar,
        startMs: wallMs,
        listed: bound.listing.rows.size,
        pageRows: bound.listing.pageRows(),
        resyncMs: parseDuration(policy.spec.resyncInterval) ?? 0,
      });
  return {
    rolloutId: decision.header.rolloutId,
    begins: seen.began,
    isComplete: seen.ledger.header.completedAtMs !== undefined,
    target: decision.header.target,
    heir,
    matched: members.matched,
    stages: stages.map((stage, index) => ({ ...stage, ...timesOf(said, course, index) })),
    leftOut: members.leftOut,
    maxInProgress,
    requestsPerSecond,
    upgrade,
    forecast: said,
    hindrances: hindrancesOf(policy, seen, decision),
  };
}

/** How many collectors are to be upgraded, whatever it is that they wait for. */
export function countUpgrades({ stages }: Pick<RolloutPlan, 'stages'>): number {
  return stages.reduce((sum, { upgrades }) => sum + upgrades.length, 0);
}

/** The policy as if it acted and nobody had paused it. */
function unhindered(policy: CollectorVersionPolicy): CollectorVersionPolicy {
  const { [annotations.paused]: _, ...others } = policy.metadata.annotations;
  return {
    ...policy,
    metadata: { ...policy.metadata, annotations: others },
    spec: { ...policy.spec, mode: 'Enforce', paused: false },
  };
}

function hindrancesOf(
  policy: CollectorVersionPolicy,
  { input }: Ready,
  { header, health }: Decision,
): readonly string[] {
  const by = input.observation.pausedForAll ?? pausedByOf(policy);
  const { policiesHold } = input.observation;
  return [
    ...(policiesHold === undefined ? [] : [`${policiesHold}.`]),
    ...(by === undefined ? [] : [`It is paused by ${by}: nothing is started before it goes on.`]),
    ...(policy.spec.mode === 'Observe' ? ['spec.mode is Observe: nothing is started before it is Enforce.'] : []),
    // Of a way back, too, which goes on by itself.
    ...(health.stalled || header.stop ? [health.message] : []),
  ];
}

/** Who is taken back is not upgraded. */
function withoutUpgrades(members: PlannedMembers): PlannedMembers {
  const stages = new Map<number, StageMembers>();
  for (const [index, stage] of members.stages) stages.set(index, { ...stage, upgrades: [] });
  return { ...members, stages };
}

function progressOf(
  spec: CollectorVersionPolicySpec,
  { ledger, bound, roster, input }: Ready,
  { header }: Decision,
  { stages }: PlannedMembers,
): StageProgress {
  const { wallMs, monotonicMs } = input.now;
  const sweptMs = bound.listing.completeSinceMs();
  return progressStages({
    spec,
    header,
    countOf: (stage) => ({
      counts: (stages.get(stage) ?? emptyStage()).counts,
      tally: ledger.tally(spec.strategy.stages?.[stage]?.name),
      vanished: roster.vanished(stage),
    }),
    latecomersOf: () => 0,
    sweptSinceMs: sweptMs === undefined ? undefined : wallMs - (monotonicMs - sweptMs),
    wallMs,
  });
}

type UntimedStage = Omit<PlannedStage, 'startMs' | 'endMs' | 'afterApproval'>;

function stagesOf(
  { strategy }: CollectorVersionPolicySpec,
  { header }: Decision,
  members: PlannedMembers,
  { records }: StageProgress,
  begins: boolean,
): readonly UntimedStage[] {
  const { stages = [] } = strategy;
  if (stages.length === 0) {
    const all = membersWithoutStages(members);
    const shown = { ...shownOf(all), name: undefined, maxInProgress: undefined, soakMs: 0 };
    return [{ ...shown, approval: 'none', state: begins ? 'ahead' : 'underWay' }];
  }
  return stages.map((stage, index) => {
    const { name } = stage;
    const shown = shownOf(members.stages.get(index) ?? emptyStage());
    const record = records.find((one) => one.name === name);
    const state = record?.endedAtMs !== undefined ? 'ended' : record && !begins ? 'underWay' : 'ahead';
    const isAwaited = state !== 'ended' && shown.upgrades.length > 0 && needsApproval(stage, header);
    return {
      ...shown,
      name,
      maxInProgress: placesOf(stage, shown.counts),
      soakMs: soakMsOf(stage),
      approval: isAwaited ? 'needed' : header.approved?.includes(name) ? 'given' : 'none',
      state,
    };
  });
}

function shownOf({ counts, upgrades }: StageMembers): Pick<PlannedStage, 'counts' | 'members' | 'upgrades'> {
  return { counts, members: totalOf(counts), upgrades };
}

/** Neighbours in the line that are alike are one group. */
function groupsOf(upgrades: readonly PlannedCollector[]): readonly ForecastMembers[] {
  const groups: { version: string; zone: string | undefined; count: number }[] = [];
  for (const { version = '', zone } of upgrades) {
    const last = groups.at(-1);
    if (last?.version === version && last.zone === zone) last.count++;
    else groups.push({ version, zone, count: 1 });
  }
  return groups;
}

function timesOf(
  said: Forecast | undefined,
  course: readonly StageAhead[],
  index: number,
): Pick<PlannedStage, 'startMs' | 'endMs' | 'afterApproval'> {
  const found = said?.stages[course.findIndex((one) => one.index === index)];
  return { startMs: found?.startMs, endMs: found?.endMs, afterApproval: found?.afterApproval ?? false };
}

function upgradeLength(
  ledger: Ledger,
  status: CollectorVersionPolicyStatus | undefined,
  givenMs: number | undefined,
): UpgradeLength {
  if (givenMs !== undefined) return { ms: givenMs, source: 'given' };
  const measured = measuredMs(ledger, status);
  return measured === undefined ? { ms: assumedUpgradeMs, source: 'assumed' } : { ms: measured, source: 'measured' };
}

/** From its start until its end was seen, of an upgrade in the middle of those that the ledger knows, else of the status. */
function measuredMs(ledger: Ledger, status: CollectorVersionPolicyStatus | undefined): number | undefined {
  const tookMs: number[] = [];
  for (const { ending } of ledger.entries()) {
    if (ending?.kind === 'updated' && ending.taskId !== undefined) tookMs.push(ending.endedAtMs - ending.startedAtMs);
  }
  if (tookMs.length === 0) {
    for (const { state, startTime, endTime } of status?.tasks ?? []) {
      if (state === 'Succeeded') tookMs.push(Date.parse(endTime ?? '') - Date.parse(startTime));
    }
  }
  const usable = tookMs.filter((ms) => ms > 0).sort((left, right) => left - right);
  return usable[Math.floor(usable.length / 2)];
}
