/** Lists, for each stage, the collectors that are left to upgrade. The plan and the forecast use these lists. */
import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicySpec, Stage } from '../../api/generated/collector-version-policy.ts';
import { countDelayMs } from '../analysis/message-analysis.ts';
import { policySettings } from '../attempts/settings.ts';
import type { Decision } from '../decide.ts';
import type { LedgerHeader, StageRecord } from '../ledger/ledger.ts';
import { needsApproval, noStage, shareOf, stageStarted, takesRemaining, waitingStages } from '../members/stages.ts';
import { totalOf } from '../members/state-counts.ts';
import type { Gate } from '../rollout/rollout-state.ts';
import type { WaitCause } from '../rollout/wait-cause.ts';
import type { ForecastStage } from './forecast.ts';
import { emptyStage, type StageMembers } from './planned-members.ts';

/** Stage in a plan. If a policy has no stages, its plan has one unnamed stage. */
export interface StageOfPlan extends StageMembers, Pick<StageRecord, 'soakMs' | 'analysis' | 'members' | 'endedAtMs'> {
  readonly name: string | undefined;
  /** The stage's `maxInProgress`, as a number of collectors, if the stage sets it. */
  readonly maxInProgress: number | undefined;
  /**
   * The stage as the policy's spec describes it. Absent after the stage has started, because later changes to the spec
   * do not affect a started stage.
   */
  readonly waiting?: Stage;
}

type UnfilledStage = Partial<Omit<StageRecord, 'soakMs'>> & Pick<StageRecord, 'soakMs'> & Pick<StageOfPlan, 'waiting'>;

/** Returns the stages of a plan in order: the started stages, and then the stages of the spec that have not started. */
export function stagesOfPlan(
  spec: CollectorVersionPolicySpec,
  header: LedgerHeader,
  members: ReadonlyMap<number, StageMembers>,
  wallMs: number,
): readonly StageOfPlan[] {
  const waiting = waitingStages(spec, header).map((stage) => ({
    ...stageStarted(stage, wallMs, header),
    waiting: stage,
  }));
  const stages: readonly UnfilledStage[] = [...(header.stages ?? []), ...waiting];
  const filled = (stage: UnfilledStage, index: number): StageOfPlan => {
    const own = members.get(index) ?? emptyStage();
    const { name, maxInProgress: max, members: listed = totalOf(own.counts) } = stage;
    return { ...stage, ...own, name, maxInProgress: max === undefined ? undefined : shareOf(max, listed) };
  };
  return stages.length > 0 ? stages.map(filled) : [filled({ soakMs: 0 }, noStage)];
}

/** Returns the stages that have not ended, in the form that the forecast needs. */
export function forecastStages(
  spec: CollectorVersionPolicySpec,
  { header, gate }: Pick<Decision, 'header' | 'gate'>,
  stages: readonly StageOfPlan[],
  wallMs: number,
): readonly ForecastStage[] {
  const late = stages.filter(isStageEnded).flatMap(({ upgrades }) => upgrades);
  const ahead = stages.filter((stage) => !isStageEnded(stage));
  if (ahead.length === 0) return late.length > 0 ? [{ ...unlimited, members: late }] : [];
  return ahead.map((stage) => {
    const { inFlight, upgrades, waiting, soakMs, maxInProgress, analysis } = stage;
    return {
      ...{ soakMs, inFlight, maxInProgress },
      members: stage === ahead.at(-1) ? [...late, ...upgrades] : upgrades,
      needsApproval: waiting !== undefined && needsApproval(waiting, header),
      soakedMs: waiting ? undefined : presentSoakEndMs(gate, wallMs),
      isAnalyzed: analysis !== undefined && analysis.outcome === undefined,
      heldBy: heldBy(stage, gate, spec),
    };
  });
}

export function isStageEnded({ endedAtMs }: Pick<StageOfPlan, 'endedAtMs'>): boolean {
  return endedAtMs !== undefined;
}

const unlimited = { maxInProgress: undefined, soakMs: 0, needsApproval: false } as const;

/**
 * Returns the wall-clock time in ms at which the active stage's soak ends. Returns undefined until the soak has begun.
 */
function presentSoakEndMs(gate: Gate | undefined, wallMs: number): number | undefined {
  if (gate?.reason === reasons.soaking) return gate.untilMs ?? wallMs;
  const isAnalyzing = gate?.reason === reasons.analyzing || gate?.reason === reasons.analysisUnavailable;
  return isAnalyzing ? (gate.untilMs ?? wallMs) - countDelayMs(policySettings) : undefined;
}

/**
 * Returns the reason why the stage cannot end even if no collector is left to upgrade. Returns undefined if the
 * stage can end.
 */
function heldBy(
  { waiting, counts }: StageOfPlan,
  gate: Gate | undefined,
  { offlinePolicy }: CollectorVersionPolicySpec,
): WaitCause | undefined {
  if (!waiting && gate?.reason === reasons.collectorsFailed) return gate.cause;
  // A stage without collectors waits until it can choose a collector. The exception is a last stage that takes all
  // remaining collectors.
  if (waiting && !takesRemaining(waiting) && totalOf(counts) === 0)
    return { kind: 'stageCollector', stage: waiting.name };
  const isAwaited = offlinePolicy === 'Wait' && counts.offline > 0;
  return isAwaited ? { kind: 'online', collectors: counts.offline } : undefined;
}
