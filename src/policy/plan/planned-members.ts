/**
 * Members of a policy as its plan shows them: collectors to upgrade, by stage and in the order of their starts, and collectors
 * that are left out, with reasons.
 *
 * Invariant: plan and rollout always have the same members. The plan chooses members with the function that the rollout uses,
 * takes their order from the index of members, and their states from an actual decision.
 */

import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import type { Decision } from '../decide.ts';
import type { Ready } from '../gather.ts';
import type { Entry } from '../ledger/ledger.ts';
import type { MemberState, SkipReason } from '../members/member-state.ts';
import { PendingChanges } from '../members/pending-changes.ts';
import type { PolicyMemberIndex } from '../members/policy-member-index.ts';
import { emptyCounts, type MutableCounts } from '../members/state-counts.ts';
import { expectedMembers, laterStage, noStage } from '../rollout/stages.ts';

export interface PlannedCollector {
  readonly id: string;
  /** Name of the collector, or its id when no listing shows a name. */
  readonly name: string;
  /** Version of the collector that the service reports; undefined when it reports none. */
  readonly version: string | undefined;
  readonly zone: string | undefined;
}

/** Planned upgrades of one stage, or of all members of a policy without stages. */
export interface StageMembers {
  readonly counts: MutableCounts;
  /** Collectors to upgrade in the order of their starts, regardless of maintenance windows. */
  readonly upgrades: PlannedCollector[];
  /** Start times of upgrades that are already in flight, as wall times in ms. */
  readonly underWay: number[];
}

export type LeftOutReason = SkipReason | 'Offline' | 'Newer' | 'Failed' | 'Foreign';

/** Group of collectors that the policy's selector matches and that are not upgraded, with the reason. */
export interface LeftOut {
  readonly reason: LeftOutReason;
  /** Policy (namespace/name) that owns the collectors; undefined for this policy. */
  readonly policy: string | undefined;
  readonly collectors: readonly PlannedCollector[];
}

export interface PlannedMembers {
  readonly matched: number;
  /** Planned members of each stage, by the index of the stage. The key `noStage` has the members of a policy without stages. */
  readonly stages: ReadonlyMap<number, StageMembers>;
  /** Groups of collectors that are not upgraded, largest first. */
  readonly leftOut: readonly LeftOut[];
}

type Seen = Pick<Ready, 'memberIndex' | 'ledger' | 'bound'>;

export function planMembers(
  spec: CollectorVersionPolicySpec,
  seen: Seen,
  decision: Decision,
  wallMs: number,
): PlannedMembers {
  const { memberIndex, ledger, bound } = seen;
  const settled = settledBy(decision);
  const entryOf = (id: string) => (settled.has(id) ? settled.get(id) : ledger.entry(id));
  const memberStateOf = (id: string) => stateAfter(id, settled, memberIndex);
  const stageOf = assignStages(spec, seen, decision);
  const stages = new Map<number, StageMembers>();
  const leftOut = new LeftOutGroups();
  const first: string[] = [];
  let matched = 0;
  for (const id of memberIndex.ids()) {
    const memberState = memberStateOf(id);
    if (memberState === undefined) continue;
    matched++;
    const stage = stageIn(stages, stageOf(id));
    stage.counts[memberState]++;
    if (memberState === 'inProgress') stage.underWay.push(entryOf(id)?.open?.startedAtMs ?? wallMs);
    // The list begins with collectors whose upgrade was already tried, and with collectors that became pending by this decision.
    else if (isGoingOn(memberState) || (memberState === 'pending' && memberIndex.stateNow(id) !== 'pending'))
      first.push(id);
    const reason = reasonOf(id, memberState, entryOf(id), memberIndex);
    if (reason !== undefined) leftOut.add(reason, ownerOf(id, memberState, bound), collectorOf(id, memberIndex));
  }
  for (const id of [...first, ...memberIndex.pending()]) {
    const memberState = memberStateOf(id);
    const isWanted = memberState !== undefined && (memberState === 'pending' || isGoingOn(memberState));
    if (!isWanted) continue;
    const stage = stageOf(id);
    if (stage === laterStage) leftOut.add('NoStage', undefined, collectorOf(id, memberIndex));
    else stageIn(stages, stage).upgrades.push(collectorOf(id, memberIndex));
  }
  return { matched, stages, leftOut: leftOut.list() };
}

/**
 * Assigns each collector to its stage in the plan. This is the started stage whose list has the collector, or else the stage that
 * would choose the collector if all stages started now. `laterStage` stands for no stage.
 */
function assignStages(
  spec: CollectorVersionPolicySpec,
  { memberIndex, ledger }: Seen,
  { header, started, changes }: Decision,
): (id: string) => number {
  const { stages = [] } = header;
  const stageById = new Map(started.map((id) => [id, stages.length - 1]));
  const unlisted = [...new PendingChanges(ledger, memberIndex, changes).candidates()];
  const candidates = unlisted.filter(({ id }) => !stageById.has(id));
  for (const [place, members] of expectedMembers(header, candidates, spec, memberIndex.matched).entries())
    for (const { id } of members) stageById.set(id, stages.length + place);
  return (id) => stageById.get(id) ?? memberIndex.stageOf(id);
}

class LeftOutGroups {
  readonly #groups = new Map<
    string,
    { readonly of: Omit<LeftOut, 'collectors'>; readonly collectors: PlannedCollector[] }
  >();

  add(reason: LeftOutReason, policy: string | undefined, collector: PlannedCollector): void {
    const key = `${reason} ${policy ?? ''}`;
    const group = this.#groups.get(key) ?? { of: { reason, policy }, collectors: [] };
    this.#groups.set(key, group);
    group.collectors.push(collector);
  }

  /** Groups of collectors that are not upgraded, largest first. */
  list(): readonly LeftOut[] {
    const groups = Array.from(this.#groups.values(), ({ of, collectors }) => ({ ...of, collectors }));
    return groups.sort((left, right) => right.collectors.length - left.collectors.length);
  }
}

export function emptyStage(): StageMembers {
  return { counts: emptyCounts(), upgrades: [], underWay: [] };
}

function stageIn(stages: Map<number, StageMembers>, index: number): StageMembers {
  const known = stages.get(index);
  if (known) return known;
  const stage = emptyStage();
  stages.set(index, stage);
  return stage;
}

/** Changes of ledger entries by new evidence, without the attempts that the decision would start. */
function settledBy({ changes, post }: Decision): ReadonlyMap<string, Entry | undefined> {
  const posted = new Set(post.map(({ collectorId }) => collectorId));
  return new Map(
    changes.flatMap(({ collectorId, entry }) => (posted.has(collectorId) ? [] : [[collectorId, entry] as const])),
  );
}

function stateAfter(
  id: string,
  settled: ReadonlyMap<string, Entry | undefined>,
  memberIndex: PolicyMemberIndex,
): MemberState | undefined {
  if (!settled.has(id)) return memberIndex.stateNow(id);
  const entry = settled.get(id);
  return entry || memberIndex.selects(id) ? memberIndex.stateOf(id, entry) : undefined;
}

function isGoingOn(memberState: MemberState): boolean {
  return memberState === 'retrying' || memberState === 'drifting';
}

/** Reason why a member is not upgraded; undefined for a member that is upgraded or needs no upgrade. */
function reasonOf(
  id: string,
  memberState: MemberState,
  entry: Entry | undefined,
  memberIndex: PolicyMemberIndex,
): LeftOutReason | undefined {
  switch (memberState) {
    case 'offline':
      return 'Offline';
    case 'newer':
      return 'Newer';
    case 'failed':
      return 'Failed';
    case 'foreign':
      return 'Foreign';
    case 'skipped':
      return memberIndex.skipReason(id, entry);
    case 'updated':
    case 'inProgress':
    case 'pending':
    case 'retrying':
    case 'drifting':
      return undefined;
  }
}

/** Other policy that owns a collector; undefined when this policy owns it. */
function ownerOf(id: string, memberState: MemberState, { ownership }: Seen['bound']): string | undefined {
  if (memberState !== 'foreign') return undefined;
  const owner = ownership.owner(id);
  return owner && `${owner.namespace}/${owner.name}`;
}

function collectorOf(id: string, memberIndex: PolicyMemberIndex): PlannedCollector {
  const collector = memberIndex.row(id)?.collector;
  return {
    id,
    name: collector?.name ?? id,
    version: collector?.collectorVersion || undefined,
    zone: collector?.timeZone,
  };
}

/** Planned members of a policy without stages. */
export function membersWithoutStages({ stages }: PlannedMembers): StageMembers {
  return stages.get(noStage) ?? emptyStage();
}
