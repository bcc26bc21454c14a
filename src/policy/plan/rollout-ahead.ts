/** Builds the input of the forecast: the upgrades that a rollout still has to make, stage by stage. */

import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicySpec, Stage } from '../../api/generated/collector-version-policy.ts';
import type { LedgerHeader, Share, StageRecord } from '../ledger/ledger.ts';
import { type Counts, totalOf } from '../members/state-counts.ts';
import type { Gate } from '../rollout/rollout-state.ts';
import { needsApproval, noStage, shareOf, soakMsOf, waitingStages } from '../rollout/stages.ts';
import type { ForecastStage } from './forecast.ts';
import type { ForecastMembers } from './forecast-line.ts';

/** Stage of the forecast, with the index of the same stage in the plan. The index is undefined for late joiners of ended stages. */
export interface StageAhead {
  readonly stage: ForecastStage;
  readonly index: number | undefined;
}

/** Members of a stage that are not upgraded yet. */
export interface LeftInStage {
  /** Members of the stage to upgrade, in the order of their starts. */
  readonly groups: readonly ForecastMembers[];
  readonly counts: Counts;
  /** Start times of the stage's upgrades in flight, as wall times in ms. */
  readonly underWay: readonly number[];
}

export interface RolloutAhead {
  readonly spec: CollectorVersionPolicySpec;
  readonly header: LedgerHeader;
  readonly gate: Gate | undefined;
  readonly wallMs: number;
  /** Members that are not upgraded yet, by the index of the stage; `noStage` for a policy without stages. */
  readonly leftIn: (stage: number) => LeftInStage;
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
export function stagesAhead(input: RolloutAhead): readonly StageAhead[] {
  const stages = stagesOfPlan(input.spec, input.header);
  const late = stages.filter(isEnded).flatMap(({ index }) => input.leftIn(index).groups);
  const ahead = stages.filter((stage) => !isEnded(stage));
  const last = ahead.at(-1);
  if (!last) return late.length > 0 ? [{ index: undefined, stage: { ...unlimited, members: late } }] : [];
  return ahead.map((stage) => {
    const left = input.leftIn(stage.index);
    const members = stage === last ? [...late, ...left.groups] : left.groups;
    return { index: stage.index, stage: { ...stageAhead(stage, left, input), members } };
  });
}

function isEnded({ record }: StageOfPlan): boolean {
  return record?.endedAtMs !== undefined;
}

const unlimited = { maxInProgress: undefined, soakMs: 0, needsApproval: false } as const;

function stageAhead(
  stage: StageOfPlan,
  { counts, underWay }: LeftInStage,
  { spec, header, gate, wallMs }: RolloutAhead,
): Omit<ForecastStage, 'members'> {
  const isSoaking = stage.record !== undefined && gate?.reason === reasons.soaking;
  const failures = stage.record && gate?.reason === reasons.collectorsFailed ? gate.waitsFor : undefined;
  return {
    maxInProgress: placesOf(stage, counts),
    soakMs: stage.soakMs,
    underWay,
    needsApproval: stage.waiting !== undefined && needsApproval(stage.waiting, header),
    soakedMs: isSoaking ? (gate.untilMs ?? wallMs) : undefined,
    heldBy: failures ?? emptyOf(stage, counts) ?? awaited(spec, counts),
  };
}

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
