/**
 * Builds a policy's plan for display: its stages with their collectors, and the expected duration.
 *
 * The plan comes from the operator's `decide` function, which is called as if the policy were not paused. Making a plan
 * changes nothing.
 */
import { annotations } from '../../api/annotations.ts';
import type {
  CollectorVersionPolicySpec,
  CollectorVersionPolicyStatus,
} from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { parseDuration } from '../../base/duration.ts';
import { pausedByOf } from '../../controller/pauses.ts';
import { type Decision, decide } from '../decide.ts';
import type { Ready } from '../gather.ts';
import type { LedgerHeader, LedgerView } from '../ledger/ledger.ts';
import { countMembers, needsApproval, shareOf } from '../members/stages.ts';
import type { NextBuild } from '../rollout/target.ts';
import { MaintenanceCalendar } from '../schedule/maintenance-calendar.ts';
import { type Forecast, type ForecastOfStage, forecast } from './forecast.ts';
import { type LeftOut, planMembers } from './planned-members.ts';
import { forecastStages, isStageEnded, type StageOfPlan, stagesOfPlan } from './rollout-ahead.ts';

export interface RolloutPlan {
  readonly rolloutId: string;
  /** True if the planned rollout has not begun yet. */
  readonly begins: boolean;
  /** True if the rollout is complete. In that case, newly selected collectors are late joiners. */
  readonly isComplete: boolean;
  readonly target: string;
  /** Build that becomes the target when its age reaches `minAge`. */
  readonly nextBuild: NextBuild | undefined;
  readonly matched: number;
  /** Stages of the rollout in order. A policy without stages has one stage without a name. */
  readonly stages: readonly PlannedStage[];
  readonly leftOut: readonly LeftOut[];
  /** The policy's `strategy.maxInProgress`, as a number of upgrades. */
  readonly maxInProgress: number;
  readonly requestsPerSecond: number;
  readonly upgrade: UpgradeLength;
  /** Expected times and numbers of requests. Undefined if the rollout is stopped. */
  readonly forecast: Forecast | undefined;
  /** Sentences that tell the user why no upgrade starts, or what needs attention. */
  readonly hindrances: readonly string[];
}

export interface PlannedStage
  extends Pick<StageOfPlan, 'name' | 'counts' | 'upgrades' | 'maxInProgress' | 'soakMs' | 'analysis'> {
  readonly members: number;
  /** Approval of the stage by a user: not needed, still needed, or already given. */
  readonly approval: 'none' | 'needed' | 'given';
  /** Progress of the stage: not started, running or ended. */
  readonly state: 'pending' | 'progressing' | 'ended';
  /**
   * Wall-clock time in ms at which the stage is expected to start. Undefined if the stage has started or never starts.
   */
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
  /** True if the expected times also depend on when a user approves this stage or an earlier one. */
  readonly afterApproval: boolean;
}

/** Duration of one upgrade: given by the user, measured or assumed. */
export interface UpgradeLength {
  readonly ms: number;
  readonly source: 'given' | 'measured' | 'assumed';
}

const assumedUpgradeMs = 3 * 60_000;

/**
 * Plans the rollout of a policy.
 * @param upgradeMs duration of one upgrade in ms; by default a measured or assumed duration
 */
export function planRollout(policy: CollectorVersionPolicy, seen: Ready, upgradeMs?: number): RolloutPlan {
  const { bound, input, nextBuild, began } = seen;
  const { wallMs } = input.now;
  const free = unhindered(policy);
  const observation = { ...input.observation, pausedForAll: undefined, upgradesBlocked: undefined };
  const decision = decide({ ...input, policy: free, observation });
  const { header } = decision;
  const { matched, leftOut, stages: members } = planMembers(free.spec, seen, decision, wallMs);
  const found = stagesOfPlan(free.spec, header, members, wallMs);
  // During a rollback, no collector is upgraded.
  const stages = header.stop?.kind === 'rollback' ? found.map((stage) => ({ ...stage, upgrades: [] })) : found;
  const upgrade = upgradeLength(input.ledger, policy.status, upgradeMs);
  const maxInProgress = shareOf(policy.spec.strategy.maxInProgress, matched);
  const { requestsPerSecond } = bound.account;
  const predict = () =>
    forecast({
      stages: forecastStages(free.spec, decision, stages, wallMs),
      maxInProgress,
      requestsPerSecond,
      upgradeMs: upgrade.ms,
      isMeasured: upgrade.source === 'measured',
      calendar: new MaintenanceCalendar(policy.spec.maintenance),
      startMs: wallMs,
      listed: bound.listing.rows.size,
      pageRows: bound.listing.pageRows(),
      resyncMs: parseDuration(policy.spec.resyncInterval) ?? 0,
    });
  const predicted = header.stop ? undefined : predict();
  const ahead = stages.filter((stage) => !isStageEnded(stage));
  const planned = (stage: StageOfPlan) =>
    plannedStage(stage, free.spec, header, began, predicted?.stages[ahead.indexOf(stage)]);
  return {
    rolloutId: header.rolloutId,
    begins: began,
    isComplete: input.ledger.header.completedAtMs !== undefined,
    target: header.target,
    nextBuild,
    matched,
    stages: stages.map(planned),
    leftOut,
    maxInProgress,
    requestsPerSecond,
    upgrade,
    forecast: predicted,
    hindrances: hindrancesOf(policy, seen, decision),
  };
}

/** Returns the number of collectors to upgrade. */
export function countUpgrades({ stages }: Pick<RolloutPlan, 'stages'>): number {
  return stages.reduce((sum, { upgrades }) => sum + upgrades.length, 0);
}

/** Returns a copy of the policy with mode Enforce and without a pause, so that the plan contains upgrades. */
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
  const { upgradesBlocked } = input.observation;
  return [
    ...(upgradesBlocked === undefined ? [] : [`${upgradesBlocked}.`]),
    ...(by === undefined ? [] : [`The policy is paused by ${by}, so no upgrade starts until the pause ends.`]),
    ...(policy.spec.mode === 'Observe'
      ? ['spec.mode is Observe, so no upgrade starts until it is set to Enforce.']
      : []),
    // During a rollback, the health message explains why no upgrade starts.
    ...(health.stalled || header.stop ? [health.message] : []),
  ];
}

function plannedStage(
  stage: StageOfPlan,
  spec: CollectorVersionPolicySpec,
  header: LedgerHeader,
  begins: boolean,
  times: ForecastOfStage | undefined,
): PlannedStage {
  const { name, counts, upgrades, maxInProgress, soakMs, analysis, waiting } = stage;
  const isApproved = header.approved?.some((approved) => approved === name);
  return {
    ...{ name, counts, upgrades, maxInProgress, soakMs, ...(analysis && { analysis }) },
    members: countMembers(counts, spec, stage),
    approval: waiting && needsApproval(waiting, header) ? 'needed' : isApproved ? 'given' : 'none',
    state: isStageEnded(stage) ? 'ended' : waiting || begins ? 'pending' : 'progressing',
    startMs: times?.startMs,
    endMs: times?.endMs,
    afterApproval: times?.afterApproval ?? false,
  };
}

function upgradeLength(
  ledger: LedgerView,
  status: CollectorVersionPolicyStatus | undefined,
  givenMs: number | undefined,
): UpgradeLength {
  if (givenMs !== undefined) return { ms: givenMs, source: 'given' };
  const measured = measuredMs(ledger, status);
  return measured === undefined ? { ms: assumedUpgradeMs, source: 'assumed' } : { ms: measured, source: 'measured' };
}

/**
 * Returns the median duration, in ms, of the upgrades in the ledger. If there are none, uses the upgrades in the
 * policy's status.
 */
function measuredMs(ledger: LedgerView, status: CollectorVersionPolicyStatus | undefined): number | undefined {
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
