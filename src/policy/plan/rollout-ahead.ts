/** Builds the input of the forecast: the upgrades that a rollout still has to make, stage by stage. */

import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicySpec, Stage } from '../../api/generated/collector-version-policy.ts';
import { analysisAtStart, settleMs } from '../analysis/message-analysis.ts';
import type { Decision } from '../decide.ts';
import type { LedgerHeader, Share, StageAnalysis, StageRecord } from '../ledger/ledger.ts';
import { type Counts, totalOf } from '../members/state-counts.ts';
import { needsApproval, noStage, shareOf, soakMsOf, waitingStages } from '../rollout/stages.ts';
import { policySettings } from '../settings.ts';
import type { ForecastStage } from './forecast.ts';
import { emptyStage, type PlannedMembers } from './planned-members.ts';

/** Stage of the forecast, with the index of the same stage in the plan. The index is undefined for late joiners of ended stages. */
export interface StageAhead {
  readonly stage: ForecastStage;
  readonly index: number | undefined;
}

/**
 * Stage in the plan of a rollout: a stage that has started, or a stage of the spec that has not started. A policy without stages has one
 * stage without a name.
 */
export interface StageOfPlan {
  readonly index: number;
  readonly name: string | undefined;
  readonly soakMs: number;
  readonly maxInProgress?: Share | undefined;
  /** Message analysis of the stage; absent when the stage has none. */
  readonly analysis?: StageAnalysis | undefined;
  /** Ledger record of the stage; absent while the stage has not started. */
  readonly record?: StageRecord;
  /** Stage of the spec; absent when the stage has started. */
  readonly waiting?: Stage;
}

/** Stages of a plan: first the stages that have started, then the stages of the spec that have not. */
export function stagesOfPlan(spec: CollectorVersionPolicySpec, header: LedgerHeader): readonly StageOfPlan[] {
  const started = header.stages ?? [];
  const stages = [
    ...started.map((record, index) => ({ ...record, index, record })),
    ...waitingStages(spec, header).map((waiting, place) => ({
      ...{ name: waiting.name, soakMs: soakMsOf(waiting), maxInProgress: waiting.maxInProgress },
      analysis: waiting.analysis && analysisAtStart(waiting.analysis.messages, header.unprovenSinceMs),
      index: started.length + place,
      waiting,
    })),
  ];
  return stages.length > 0 ? stages : [{ index: noStage, name: undefined, soakMs: 0 }];
}

/** `maxInProgress` of a stage as a number of its members; undefined when the stage sets none. */
export function placesOf({ maxInProgress, record }: StageOfPlan, counts: Counts): number | undefined {
  return maxInProgress === undefined ? undefined : shareOf(maxInProgress, record?.members ?? totalOf(counts));
}

/** Stages of the forecast. Late joiners of ended stages are upgraded together with the last stage. */
export function stagesAhead(
  spec: CollectorVersionPolicySpec,
  { header, state }: Pick<Decision, 'header' | 'state'>,
  planned: PlannedMembers,
  wallMs: number,
): readonly StageAhead[] {
  const stages = stagesOfPlan(spec, header);
  const membersOf = ({ index }: StageOfPlan) => planned.stages.get(index) ?? emptyStage();
  const late = stages.filter(isEnded).flatMap((stage) => membersOf(stage).upgrades);
  const ahead = stages.filter((stage) => !isEnded(stage));
  if (ahead.length === 0) return late.length > 0 ? [{ index: undefined, stage: { ...unlimited, members: late } }] : [];
  const { gate } = state;
  return ahead.map((stage, place) => {
    const { index, record, waiting, soakMs, analysis } = stage;
    const { counts, underWay, upgrades } = membersOf(stage);
    const failures = record && gate?.reason === reasons.collectorsFailed ? gate.waitsFor : undefined;
    const forecast = {
      ...{ soakMs, underWay },
      members: place === ahead.length - 1 ? [...late, ...upgrades] : upgrades,
      maxInProgress: placesOf(stage, counts),
      needsApproval: waiting !== undefined && needsApproval(waiting, header),
      soakedMs: record && soakEndMs(gate, wallMs),
      isAnalyzed: analysis !== undefined && analysis.outcome === undefined,
      heldBy: failures ?? emptyOf(stage, counts) ?? awaited(spec, counts),
    };
    return { index, stage: forecast };
  });
}

/** End of the current stage's soak as wall time in ms; undefined when the stage waits for something else. */
function soakEndMs(gate: Decision['state']['gate'], wallMs: number): number | undefined {
  if (gate?.reason === reasons.soaking) return gate.untilMs ?? wallMs;
  const isAnalyzing = gate?.reason === reasons.analyzing || gate?.reason === reasons.analysisUnavailable;
  return isAnalyzing ? (gate.untilMs ?? wallMs) - settleMs(policySettings) : undefined;
}

function isEnded({ record }: StageOfPlan): boolean {
  return record?.endedAtMs !== undefined;
}

const unlimited = { maxInProgress: undefined, soakMs: 0, needsApproval: false } as const;

/**
 * Reason why a stage that has no collector to choose cannot start. A person must provide a collector, except for a last stage
 * without a list of members.
 */
function emptyOf({ name, waiting }: StageOfPlan, counts: Counts): string | undefined {
  if (!waiting || totalOf(counts) > 0 || (waiting.size === undefined && !waiting.selector)) return undefined;
  return `a collector for stage ${name}`;
}

function awaited({ offlinePolicy }: CollectorVersionPolicySpec, { offline }: Counts): string | undefined {
  if (offlinePolicy !== 'Wait' || offline === 0) return undefined;
  return offline === 1 ? '1 collector to come back' : `${offline} collectors to come back`;
}
