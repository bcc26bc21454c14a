/**
 * Chooses the collectors of a rollout's stages, and tells which stages have not started yet (R1).
 *
 * - A stage chooses its collectors once, when it starts, among the collectors that are in no started stage.
 * - A stage with `size` chooses that number of collectors. It prefers collectors that can be upgraded, because other collectors
 *   prove nothing. In an unproven rollout, collectors that already run the target version soak as well, so they are preferred,
 *   too. The order depends only on the collector ids, so it is the same after a restart and in the next rollout.
 * - A last stage without `size` and `selector` has no list: it takes every collector that no other stage has.
 *
 * `rollout-state.ts` decides when a stage starts and ends.
 */
import type { CollectorVersionPolicySpec, Stage } from '../../api/generated/collector-version-policy.ts';
import { parseDuration } from '../../base/duration.ts';
import { compareText } from '../../base/text-order.ts';
import type { Collector } from '../../service/collectors/upgrade-service.ts';
import { analysisAtStart } from '../analysis/message-analysis.ts';
import type { LedgerHeader, StageRecord } from '../ledger/ledger.ts';
import { isEligible, type MemberState } from '../members/member-state.ts';
import { compileSelection } from '../members/selector.ts';
import type { Counts } from '../members/state-counts.ts';

/** Stage index for all collectors of a policy without stages. */
export const noStage = -1;
/** Stage index for collectors that are in no started stage; greater than the index of every started stage. */
export const laterStage = Number.MAX_SAFE_INTEGER;

type StagedSpec = Pick<CollectorVersionPolicySpec, 'strategy' | 'offlinePolicy'>;

/** Collector that is in no started stage and that a stage may choose. */
export interface StageCandidate {
  readonly id: string;
  readonly memberState: MemberState;
  /** Data of the collector, as a listing shows it; undefined when no listing shows the collector. */
  readonly collector: Collector | undefined;
}

/** Stages of the spec that have not started, in order. A stage is identified by its name. */
export function waitingStages(
  { strategy }: Pick<CollectorVersionPolicySpec, 'strategy'>,
  { stages: started = [] }: Pick<LedgerHeader, 'stages'>,
): readonly Stage[] {
  return (strategy.stages ?? []).filter(({ name }) => started.every((record) => record.name !== name));
}

/** Whether the stage takes all remaining collectors. For such a stage, no list of collectors is stored. */
export function hasNoList({ size, selector }: Stage): boolean {
  return size === undefined && selector === undefined;
}

/** Index of the started stage that takes all remaining collectors; undefined when no such stage has started. */
export function restStage({ stages = [] }: Pick<LedgerHeader, 'stages'>): number | undefined {
  const index = stages.findLastIndex(({ members }) => members === undefined);
  return index === -1 ? undefined : index;
}

/**
 * Returns the collectors that a stage would choose if it started now.
 * @param matched number of collectors that the policy selects; percentages refer to this number until the first stage has
 *   started
 */
export function chooseMembers(
  stage: Stage,
  candidates: Iterable<StageCandidate>,
  spec: StagedSpec,
  header: Pick<LedgerHeader, 'selected' | 'unproven'>,
  matched: number,
): readonly StageCandidate[] {
  const { selected = matched, unproven = false } = header;
  const able = [...choosable(stage, candidates, spec)];
  return stage.size === undefined ? able : inStageOrder(able, unproven).slice(0, shareOf(stage.size, selected));
}

/**
 * Returns the collectors of each stage that has not started, as if all these stages started now, one after another. A last
 * stage without a list of collectors has all remaining candidates.
 */
export function expectedMembers(
  header: Pick<LedgerHeader, 'stages' | 'selected' | 'unproven'>,
  candidates: Iterable<StageCandidate>,
  spec: StagedSpec,
  matched: number,
): readonly (readonly StageCandidate[])[] {
  const waiting = waitingStages(spec, header);
  const free = new Set(waiting.length > 0 ? candidates : []);
  return waiting.map((stage) => {
    const members = hasNoList(stage) ? [...free] : chooseMembers(stage, free, spec, header, matched);
    for (const member of members) free.delete(member);
    return members;
  });
}

/** Number of collectors in the stored list of a stage. Without a list, the number that can be upgraded or were upgraded. */
export function countMembers(counts: Counts, spec: StagedSpec, record?: Pick<StageRecord, 'members'>): number {
  const states = Object.keys(counts) as MemberState[];
  return record?.members ?? states.reduce((sum, state) => sum + (isEligible(state, spec) ? counts[state] : 0), 0);
}

/** Whether a stage would choose at least one collector. This check is fast, because it stops at the first match. */
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

/** Sorts candidates as a stage with `size` chooses them: collectors that can be upgraded first, then by hash of the id. */
function inStageOrder(candidates: readonly StageCandidate[], unproven: boolean): readonly StageCandidate[] {
  const keyed = candidates.map((candidate) => {
    const { id, memberState } = candidate;
    const isLast = memberState === 'offline' || (memberState === 'updated' && !unproven);
    return { candidate, id, rank: Number(isLast), at: stageOrder(id) };
  });
  const sorted = keyed.sort(
    (left, right) => left.rank - right.rank || left.at - right.at || compareText(left.id, right.id),
  );
  return sorted.map(({ candidate }) => candidate);
}

/** Ledger entry of a stage that starts now. The entry keeps the stage's limits even if the spec is edited later. */
export function stageStarted(
  stage: Stage,
  startedAtMs: number,
  { unprovenSinceMs }: Pick<LedgerHeader, 'unprovenSinceMs'> = {},
): Omit<StageRecord, 'members'> {
  const { name, maxFailures, maxInProgress } = stage;
  return {
    name,
    startedAtMs,
    soakMs: soakMsOf(stage),
    ...(maxFailures !== undefined && { maxFailures }),
    ...(maxInProgress !== undefined && { maxInProgress }),
    tally: { finished: 0, failed: 0 },
    ...(stage.analysis && { analysis: analysisAtStart(stage.analysis.messages, unprovenSinceMs) }),
  };
}

/** Wall time in ms at which the soak of a started stage ends; Infinity until all its collectors run the target version. */
export function soakEndMs({ updatedAtMs = Infinity, soakMs }: Pick<StageRecord, 'updatedAtMs' | 'soakMs'>): number {
  return updatedAtMs + soakMs;
}

export function soakMsOf({ soakDuration }: Stage): number {
  return parseDuration(soakDuration) ?? 0;
}

/** Whether a stage needs a person's approval before it starts (R4). */
export function needsApproval({ name, approval }: Stage, { approved }: Pick<LedgerHeader, 'approved'>): boolean {
  return approval === 'Required' && !approved?.includes(name);
}

/** Sort key by which a stage chooses collectors: an FNV-1a hash of the collector id, mixed so that similar ids differ much. */
export function stageOrder(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Converts a number, or a percentage of `of`, to a number of collectors. A percentage is rounded up and gives at least 1. */
export function shareOf(share: number | string, of: number): number {
  if (typeof share === 'number') return share;
  return Math.max(1, Math.ceil((Number.parseFloat(share) * of) / 100));
}
