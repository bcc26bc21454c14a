/**
 * Stages of a rollout: which collectors a stage chooses, and which stages are still to come (R1).
 *
 * - A stage chooses its members once, when it starts, among the collectors that no started stage has.
 * - A stage with `size` takes that many. Collectors that can be upgraded come first, because others prove nothing. In an unproven
 *   rollout, collectors at the target soak as well and come first, too. The order follows from the ids alone, so it is the same after
 *   a restart and in the next rollout.
 * - The last stage has no list when it has neither `size` nor `selector`: it is every collector that no other stage has.
 *
 * `rollout-state.ts` decides when a stage starts and ends.
 */
import type { CollectorVersionPolicySpec, Stage } from '../../api/generated/collector-version-policy.ts';
import { parseDuration } from '../../base/duration.ts';
import { compareText } from '../../base/text-order.ts';
import type { Collector } from '../../service/collectors/upgrade-service.ts';
import type { LedgerHeader, StageRecord } from '../ledger/ledger.ts';
import { isEligible, type MemberState } from '../members/member-state.ts';
import { compileSelection } from '../members/selector.ts';

/** Stage index of all collectors of a policy without stages. */
export const noStage = -1;
/** Stage index of collectors that no started stage has. Comes after every started stage. */
export const laterStage = Number.MAX_SAFE_INTEGER;

type StagedSpec = Pick<CollectorVersionPolicySpec, 'strategy' | 'offlinePolicy'>;

/** A collector that no started stage has. */
export interface StageCandidate {
  readonly id: string;
  readonly memberState: MemberState;
  /** Undefined when no listing shows the collector. */
  readonly collector: Collector | undefined;
}

/** Stages of the spec that have not started, in order. Stages are identified by name. */
export function waitingStages(
  { strategy }: Pick<CollectorVersionPolicySpec, 'strategy'>,
  { stages: started = [] }: Pick<LedgerHeader, 'stages'>,
): readonly Stage[] {
  return (strategy.stages ?? []).filter(({ name }) => started.every((record) => record.name !== name));
}

/** Whether the stage has no list of members. */
export function hasNoList({ size, selector }: Stage): boolean {
  return size === undefined && selector === undefined;
}

/** Index of the started stage without list; undefined when none has started. */
export function restStage({ stages = [] }: Pick<LedgerHeader, 'stages'>): number | undefined {
  const index = stages.findLastIndex(({ members }) => members === undefined);
  return index === -1 ? undefined : index;
}

/** What a choice depends on beside the stage: the spec, and the rollout. */
interface ChoiceInput {
  readonly spec: StagedSpec;
  /** Number of selected collectors when the rollout's first stage started. */
  readonly selected: number;
  readonly unproven: boolean;
}

/** Members that a stage chooses when it starts now. Walks over all candidates. */
export function chooseMembers(
  stage: Stage,
  candidates: Iterable<StageCandidate>,
  { spec, selected, unproven }: ChoiceInput,
): readonly string[] {
  const { size } = stage;
  const able = [...choosable(stage, candidates, spec)];
  return size === undefined ? able.map(({ id }) => id) : inStageOrder(able, unproven).slice(0, shareOf(size, selected));
}

/** Whether a stage would choose a member. Cheap enough for each decision, because it ends with the first one. */
export function hasMember(stage: Stage, candidates: Iterable<StageCandidate>, spec: StagedSpec): boolean {
  return choosable(stage, candidates, spec).next().done !== true;
}

function* choosable(
  { selector }: Stage,
  candidates: Iterable<StageCandidate>,
  spec: StagedSpec,
): IterableIterator<StageCandidate> {
  const matches = selector ? compileSelection(selector) : () => true;
  for (const candidate of candidates) {
    const { collector } = candidate;
    if (mayBeChosen(candidate, spec) && (!selector || (collector && matches(collector)))) yield candidate;
  }
}

function mayBeChosen({ memberState, collector }: StageCandidate, spec: StagedSpec): boolean {
  const isDead = collector?.alive === false && spec.offlinePolicy === 'Skip';
  return isEligible(memberState, spec) && !isDead;
}

/** Ids in the order in which a size takes them: collectors that can be upgraded, then by hash. */
function inStageOrder(candidates: readonly StageCandidate[], unproven: boolean): readonly string[] {
  const keyed = candidates.map(({ id, memberState }) => {
    const isLast = memberState === 'offline' || (memberState === 'updated' && !unproven);
    return { id, rank: Number(isLast), at: stageOrder(id) };
  });
  const sorted = keyed.sort(
    (left, right) => left.rank - right.rank || left.at - right.at || compareText(left.id, right.id),
  );
  return sorted.map(({ id }) => id);
}

/** Record of a stage that starts now: its limits are frozen with it. */
export function stageStarted(stage: Stage, startedAtMs: number): Omit<StageRecord, 'members' | 'shards'> {
  const { name, maxFailures, maxInProgress } = stage;
  return {
    name,
    startedAtMs,
    soakMs: soakMsOf(stage),
    ...(maxFailures !== undefined && { maxFailures }),
    ...(maxInProgress !== undefined && { maxInProgress }),
    tally: { finished: 0, failed: 0 },
  };
}

export function soakMsOf({ soakDuration }: Stage): number {
  return parseDuration(soakDuration) ?? 0;
}

/** Whether a stage waits for a person before it starts (R4). */
export function needsApproval({ name, approval }: Stage, { approved }: Pick<LedgerHeader, 'approved'>): boolean {
  return approval === 'Required' && !approved?.includes(name);
}

/** Sort key of a collector for sizes of stages; ties are broken by id. An FNV-1a hash with mixed bits. */
export function stageOrder(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number of collectors, or a percentage of `of`, rounded up and at least 1. */
export function shareOf(share: number | string, of: number): number {
  if (typeof share === 'number') return share;
  return Math.max(1, Math.ceil((Number.parseFloat(share) * of) / 100));
}
