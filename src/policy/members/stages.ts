/**
 * Chooses the collectors of a rollout's stages (R1).
 *
 * - A stage chooses its collectors when it starts. It never takes a collector that an earlier stage has chosen.
 * - A stage with `size` prefers collectors that can be upgraded. Collectors are ordered by a hash of their ids, so the
 *   order stays the same after a restart.
 * - A last stage without `size` and `selector` takes all remaining collectors.
 */
import type { CollectorVersionPolicySpec, Stage } from '../../api/generated/collector-version-policy.ts';
import { parseDuration } from '../../base/duration.ts';
import { compareText } from '../../base/text-order.ts';
import type { Collector } from '../../service/collectors/upgrade-service.ts';
import { analysisAtStart } from '../analysis/message-analysis.ts';
import { emptyTally, type LedgerHeader, type StageRecord } from '../ledger/ledger.ts';
import { isEligible, type MemberState } from './member-state.ts';
import { compileSelection } from './selector.ts';
import type { Counts } from './state-counts.ts';

/** Stage index of every collector in a policy without stages. */
export const noStage = -1;
/** Stage index of collectors that no started stage contains. This index is greater than all other stage indexes. */
export const laterStage = Number.MAX_SAFE_INTEGER;

type StagedSpec = Pick<CollectorVersionPolicySpec, 'strategy' | 'offlinePolicy'>;

/** Collector that a stage may choose, because no stage has chosen it yet. */
export interface StageCandidate {
  readonly id: string;
  readonly memberState: MemberState;
  /** Data about the collector, if a listing shows the collector. */
  readonly collector: Collector | undefined;
}

/**
 * Returns the stages of the spec that have not started, in order. A stage counts as started if a started stage has the
 * same name.
 */
export function waitingStages(
  { strategy }: Pick<CollectorVersionPolicySpec, 'strategy'>,
  { stages: started = [] }: Pick<LedgerHeader, 'stages'>,
): readonly Stage[] {
  return (strategy.stages ?? []).filter(({ name }) => started.every((record) => record.name !== name));
}

/** Reports whether the stage takes all remaining collectors. */
export function takesRemaining({ size, selector }: Stage): boolean {
  return size === undefined && selector === undefined;
}

/**
 * Returns the index of the started stage that takes all remaining collectors, or undefined if there is no such stage.
 */
export function catchAllStage({ stages = [] }: Pick<LedgerHeader, 'stages'>): number | undefined {
  const index = stages.findLastIndex(({ members }) => members === undefined);
  return index === -1 ? undefined : index;
}

/**
 * Returns the collectors that a stage would choose now.
 * @param matched number of selected collectors; used for percentages until the first stage has started
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
 * Returns the collectors that each waiting stage would choose if all waiting stages started now, one after the other.
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
    const members = takesRemaining(stage) ? [...free] : chooseMembers(stage, free, spec, header, matched);
    for (const member of members) free.delete(member);
    return members;
  });
}

/**
 * Returns the number of collectors in a stage. If the stage has no stored list of collectors, only collectors that can
 * be upgraded or have been upgraded are counted.
 */
export function countMembers(counts: Counts, spec: StagedSpec, record?: Pick<StageRecord, 'members'>): number {
  const states = Object.keys(counts) as MemberState[];
  return record?.members ?? states.reduce((sum, state) => sum + (isEligible(state, spec) ? counts[state] : 0), 0);
}

/** Reports whether a stage would choose at least one collector. */
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
    const { collector, memberState } = candidate;
    const isDead = collector?.alive === false && spec.offlinePolicy === 'Skip';
    if (isDead || !isEligible(memberState, spec)) continue;
    if (!selector || (collector && matches(collector))) yield candidate;
  }
}

/**
 * Sorts the candidates of a stage with `size` by a hash of their ids. Collectors that are offline or need no upgrade
 * come last.
 */
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

/** Returns the ledger record of a stage that starts now. Later changes to the spec do not affect the record. */
export function stageStarted(
  stage: Stage,
  startedAtMs: number,
  { unprovenSinceMs }: Pick<LedgerHeader, 'unprovenSinceMs'>,
): Omit<StageRecord, 'members'> {
  const { name, maxFailures, maxInProgress, soakDuration } = stage;
  return {
    name,
    startedAtMs,
    soakMs: parseDuration(soakDuration) ?? 0,
    ...(maxFailures !== undefined && { maxFailures }),
    ...(maxInProgress !== undefined && { maxInProgress }),
    tally: emptyTally,
    ...(stage.analysis && { analysis: analysisAtStart(stage.analysis.messages, unprovenSinceMs) }),
  };
}

/**
 * Returns the wall-clock time in ms at which the soak ends. Returns Infinity until all collectors of the stage run the
 * target version.
 */
export function soakEndMs({ updatedAtMs = Infinity, soakMs }: Pick<StageRecord, 'updatedAtMs' | 'soakMs'>): number {
  return updatedAtMs + soakMs;
}

/** Reports whether a stage needs a user's approval before it starts (R4). */
export function needsApproval({ name, approval }: Stage, { approved }: Pick<LedgerHeader, 'approved'>): boolean {
  return approval === 'Required' && !approved?.includes(name);
}

/**
 * Returns the sort key for a collector: an FNV-1a hash of the collector's id, mixed so that similar ids have very
 * different keys.
 */
export function stageOrder(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Resolves a share (a number of collectors, or a percentage of `of`) to a number of collectors. For a percentage, the
 * result is rounded up and is at least 1.
 */
export function shareOf(share: number | string, of: number): number {
  if (typeof share === 'number') return share;
  return Math.max(1, Math.ceil((Number.parseFloat(share) * of) / 100));
}
