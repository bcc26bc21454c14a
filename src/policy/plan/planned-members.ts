/**
 * Lists the collectors in a policy's plan: the collectors to upgrade, by stage, and the collectors that are not
 * upgraded. The plan uses the same functions as a real rollout.
 */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import { getOrAdd } from '../../base/get-or-add.ts';
import { keyText } from '../../base/key-text.ts';
import type { Decision } from '../decide.ts';
import type { Ready } from '../gather.ts';
import type { MemberState, SkipReason } from '../members/member-state.ts';
import { PendingChanges } from '../members/pending-changes.ts';
import type { MemberView } from '../members/policy-member-index.ts';
import { expectedMembers, laterStage } from '../members/stages.ts';
import { emptyCounts, type MutableCounts } from '../members/state-counts.ts';

export interface PlannedCollector {
  readonly id: string;
  /** Name of the collector, or its id if the name is unknown. */
  readonly name: string;
  /** Version of the collector, if the service reports one. */
  readonly version: string | undefined;
  readonly zone: string | undefined;
}

/** Planned upgrades of one stage. */
export interface StageMembers {
  readonly counts: MutableCounts;
  /** Collectors to upgrade, in order. Maintenance windows may change this order. */
  readonly upgrades: PlannedCollector[];
  /** Wall-clock times in ms at which running upgrades started. */
  readonly inFlight: number[];
}

export type LeftOutReason = SkipReason | 'Offline' | 'Newer' | 'Failed' | 'Foreign';

/** Group of selected collectors that are not upgraded, all for the same reason. */
export interface LeftOut {
  readonly reason: LeftOutReason;
  /** Other policy (namespace/name) that owns the collectors, if the reason is `Foreign`. Otherwise undefined. */
  readonly policy: string | undefined;
  readonly collectors: readonly PlannedCollector[];
}

export interface PlannedMembers {
  readonly matched: number;
  /** Planned upgrades by stage index. The index is `noStage` if the policy has no stages. */
  readonly stages: ReadonlyMap<number, StageMembers>;
  /** Groups of collectors that are not upgraded, largest first. */
  readonly leftOut: readonly LeftOut[];
}

export function planMembers(
  spec: CollectorVersionPolicySpec,
  { bound, input }: Ready,
  { header, started, changes, post }: Decision,
  wallMs: number,
): PlannedMembers {
  const { memberIndex, ledger } = input;
  // Upgrades that would start immediately count as planned.
  const posted = new Set(post.map(({ collectorId }) => collectorId));
  const evidence = changes.filter(({ collectorId }) => !posted.has(collectorId));
  const pending = new PendingChanges(ledger, memberIndex, evidence);
  const stageOf = assignStages(spec, memberIndex, pending, { header, started });
  const stages = new Map<number, StageMembers>();
  const leftOut: LeftOutCollector[] = [];
  const first: string[] = [];
  for (const id of memberIndex.ids()) {
    const memberState = pending.stateOf(id);
    if (memberState === undefined) continue;
    const entry = pending.entry(id);
    const stage = getOrAdd(stages, stageOf(id), emptyStage);
    stage.counts[memberState]++;
    if (memberState === 'inProgress') stage.inFlight.push(entry?.open?.startedAtMs ?? wallMs);
    // Collectors that must be upgraded again, for example after a failed upgrade, come first in the plan.
    else if (isGoingOn(memberState) || (memberState === 'pending' && memberIndex.member(id)?.memberState !== 'pending'))
      first.push(id);
    const reason = memberState === 'skipped' ? memberIndex.skipReason(id, entry) : leftOutReasons[memberState];
    const owner = memberState === 'foreign' ? bound.ownership.owner(id) : undefined;
    if (reason !== undefined) leftOut.push({ id, reason, policy: owner && keyText(owner) });
  }
  for (const id of [...first, ...memberIndex.pending()]) {
    const memberState = pending.stateOf(id);
    const isWanted = memberState !== undefined && (memberState === 'pending' || isGoingOn(memberState));
    if (!isWanted) continue;
    const stage = stageOf(id);
    if (stage === laterStage) leftOut.push({ id, reason: 'NoStage', policy: undefined });
    else getOrAdd(stages, stage, emptyStage).upgrades.push(collectorOf(id, memberIndex));
  }
  return { matched: pending.matched, stages, leftOut: groupLeftOut(leftOut, memberIndex) };
}

/** Returns a function that finds the stage that has chosen, or would choose, a collector. */
function assignStages(
  spec: CollectorVersionPolicySpec,
  memberIndex: MemberView,
  pending: PendingChanges,
  { header, started }: Pick<Decision, 'header' | 'started'>,
): (id: string) => number {
  const { stages = [] } = header;
  const stageById = new Map(started.map((id) => [id, stages.length - 1]));
  const candidates = [...pending.candidates()].filter(({ id }) => !stageById.has(id));
  for (const [place, members] of expectedMembers(header, candidates, spec, memberIndex.matched).entries())
    for (const { id } of members) stageById.set(id, stages.length + place);
  return (id) => stageById.get(id) ?? memberIndex.stageOf(id);
}

type LeftOutCollector = Omit<LeftOut, 'collectors'> & { readonly id: string };

function groupLeftOut(all: readonly LeftOutCollector[], memberIndex: MemberView): readonly LeftOut[] {
  const groups = Map.groupBy(all, ({ reason, policy = '' }) => `${reason} ${policy}`).values();
  return Array.from(groups, (group) => {
    const [{ reason, policy }] = group as [LeftOutCollector];
    return { reason, policy, collectors: group.map(({ id }) => collectorOf(id, memberIndex)) };
  }).sort((left, right) => right.collectors.length - left.collectors.length);
}

export function emptyStage(): StageMembers {
  return { counts: emptyCounts(), upgrades: [], inFlight: [] };
}

function isGoingOn(memberState: MemberState): boolean {
  return memberState === 'retrying' || memberState === 'drifting';
}

/** Reason that a plan shows for a collector that is not upgraded, by state of the collector. */
const leftOutReasons: { readonly [S in MemberState]?: LeftOutReason } = {
  offline: 'Offline',
  newer: 'Newer',
  failed: 'Failed',
  foreign: 'Foreign',
};

function collectorOf(id: string, memberIndex: MemberView): PlannedCollector {
  const collector = memberIndex.row(id)?.collector;
  return {
    id,
    name: collector?.name ?? id,
    version: collector?.collectorVersion || undefined,
    zone: collector?.timeZone,
  };
}
