/** Remaining work of a rollout by stage, as input of the forecast. */
import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicySpec, Stage } from '../api/generated/collector-version-policy.ts';
import type { ForecastStage } from './forecast.ts';
import type { ForecastMembers } from './forecast-line.ts';
import type { LedgerHeader } from './ledger.ts';
import { needsApproval, type StageProgress, soakMsOf } from './stage-progress.ts';
import { noStage, placesOf } from './stages.ts';
import type { Counts } from './standing-counts.ts';

/** Stage of the forecast with the index of its stage in the policy; undefined for the late joiners of ended stages. */
export interface StageAhead {
  readonly stage: ForecastStage;
  readonly index: number | undefined;
}

/** Remaining members of a stage. */
export interface LeftInStage {
  /** Members to upgrade, in the order of their starts. */
  readonly groups: readonly ForecastMembers[];
  readonly counts: Counts;
  /** Start times of upgrades in flight, in wall ms. */
  readonly underWay: readonly number[];
}

export interface RolloutAhead {
  readonly spec: CollectorVersionPolicySpec;
  readonly header: LedgerHeader;
  readonly progress: Pick<StageProgress, 'records' | 'current' | 'gate'>;
  readonly wallMs: number;
  /** Remaining members by the index of the stage; `noStage` for a policy without stages. */
  readonly leftIn: (stage: number) => LeftInStage;
}

/** Stages of the forecast. Late joiners of ended stages do not wait, and are upgraded together with the stage under way. */
export function stagesAhead(input: RolloutAhead): readonly StageAhead[] {
  const { spec, progress, leftIn } = input;
  const { stages = [] } = spec.strategy;
  if (stages.length === 0) {
    const left = leftIn(noStage);
    const heldBy = awaited(spec, left.counts);
    return [{ index: 0, stage: { ...unlimited, members: left.groups, underWay: left.underWay, heldBy } }];
  }
  const ahead: StageAhead[] = [];
  let late: readonly ForecastMembers[] = [];
  for (const [index, stage] of stages.entries()) {
    const left = leftIn(index);
    const record = progress.records.find(({ name }) => name === stage.name);
    const members = [...late, ...left.groups];
    if (record?.endedAtMs !== undefined) {
      late = members;
      continue;
    }
    ahead.push({ index, stage: { ...stageAhead(stage, index, left, input), members } });
    late = [];
  }
  if (late.length > 0) ahead.push({ index: undefined, stage: { ...unlimited, members: late } });
  return ahead;
}

const unlimited = { maxInProgress: undefined, soakMs: 0, needsApproval: false } as const;

function stageAhead(
  stage: Stage,
  index: number,
  { groups, counts, underWay }: LeftInStage,
  { spec, header, progress, wallMs }: RolloutAhead,
): Omit<ForecastStage, 'members'> {
  const { gate, current } = progress;
  const isSoaking = index === current && gate?.reason === reasons.soaking;
  const failures = index === current && gate?.reason === reasons.collectorsFailed ? gate.waitsFor : undefined;
  return {
    maxInProgress: placesOf(stage, counts),
    soakMs: soakMsOf(stage),
    underWay,
    needsApproval: needsApproval(stage, header) && groups.length > 0,
    soakedMs: isSoaking ? (gate.untilMs ?? wallMs) : undefined,
    heldBy: failures ?? awaited(spec, counts),
  };
}

function awaited({ offlinePolicy }: CollectorVersionPolicySpec, { offline }: Counts): string | undefined {
  if (offlinePolicy !== 'Wait' || offline === 0) return undefined;
  return offline === 1 ? '1 collector to come back' : `${offline} collectors to come back`;
}
