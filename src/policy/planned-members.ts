/**
 * The members of a policy as a plan shows them: who is to be upgraded, stage by stage and in the order in which they are started, and
 * who is left out, for which reason.
 *
 * Invariant: stages and order are the roster's own, and standings are those that the decision comes to once what was learnt is settled:
 * a plan cannot disagree with the rollout about who is in it.
 */
import type { Decision } from './decide.ts';
import type { Ready } from './gather.ts';
import type { Entry } from './ledger.ts';
import type { Roster } from './roster.ts';
import { noStage } from './stages.ts';
import type { SkipReason, Standing } from './standing.ts';
import { emptyCounts, type MutableCounts } from './standing-counts.ts';

export interface PlannedCollector {
  readonly id: string;
  /** The id again where no listing names it. */
  readonly name: string;
  /** As the service says it; undefined where it says none. */
  readonly version: string | undefined;
  readonly zone: string | undefined;
}

/** Those of one stage, or all where the policy has none. */
export interface StageMembers {
  readonly counts: MutableCounts;
  /** In the order in which they are started, maintenance windows aside. */
  readonly upgrades: PlannedCollector[];
  /** When upgrades began that are under way, in wall ms. */
  readonly underWay: number[];
}

export type LeftOutReason = SkipReason | 'Offline' | 'Newer' | 'Failed' | 'Foreign';

/** Collectors that the selector matches and that are not upgraded. */
export interface LeftOut {
  readonly reason: LeftOutReason;
  /** namespace/name of the policy that they belong to; undefined where they are this one's. */
  readonly policy: string | undefined;
  readonly collectors: readonly PlannedCollector[];
}

export interface PlannedMembers {
  readonly matched: number;
  /** By the index of the stage; `noStage` has those of a policy without stages. */
  readonly stages: ReadonlyMap<number, StageMembers>;
  /** The largest group first. */
  readonly leftOut: readonly LeftOut[];
}

type Seen = Pick<Ready, 'roster' | 'ledger' | 'bound'>;

export function planMembers({ roster, ledger, bound }: Seen, decision: Decision, wallMs: number): PlannedMembers {
  const settled = settledBy(decision);
  const entryOf = (id: string) => (settled.has(id) ? settled.get(id) : ledger.entry(id));
  const standingOf = (id: string) => standingAfter(id, settled, roster);
  const stages = new Map<number, StageMembers>();
  const leftOut = new LeftOutGroups();
  const first: string[] = [];
  let matched = 0;
  for (const id of roster.ids()) {
    const standing = standingOf(id);
    if (standing === undefined) continue;
    matched++;
    const stage = stageIn(stages, roster.stageOf(id));
    stage.counts[standing]++;
    if (standing === 'inProgress') stage.underWay.push(entryOf(id)?.open?.startedAtMs ?? wallMs);
    // Who is no new start goes first, and so does who has become pending by what was learnt just now.
    else if (isGoingOn(standing) || (standing === 'pending' && roster.standingNow(id) !== 'pending')) first.push(id);
    const reason = reasonOf(id, standing, entryOf(id), roster);
    if (reason !== undefined) leftOut.add(reason, ownerOf(id, standing, bound), collectorOf(id, roster));
  }
  for (const id of [...first, ...roster.pending()]) {
    const standing = standingOf(id);
    const isWanted = standing !== undefined && (standing === 'pending' || isGoingOn(standing));
    if (isWanted) stageIn(stages, roster.stageOf(id)).upgrades.push(collectorOf(id, roster));
  }
  return { matched, stages, leftOut: leftOut.list() };
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

  /** The largest first. */
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

/** What the decision has learnt, without what it would start. */
function settledBy({ changes, post }: Decision): ReadonlyMap<string, Entry | undefined> {
  const posted = new Set(post.map(({ collectorId }) => collectorId));
  return new Map(
    changes.flatMap(({ collectorId, entry }) => (posted.has(collectorId) ? [] : [[collectorId, entry] as const])),
  );
}

function standingAfter(
  id: string,
  settled: ReadonlyMap<string, Entry | undefined>,
  roster: Roster,
): Standing | undefined {
  if (!settled.has(id)) return roster.standingNow(id);
  const entry = settled.get(id);
  return entry || roster.selects(id) ? roster.standing(id, entry) : undefined;
}

function isGoingOn(standing: Standing): boolean {
  return standing === 'retrying' || standing === 'drifting';
}

/** Why a member is not upgraded; undefined of who is, or need not be. */
function reasonOf(id: string, standing: Standing, entry: Entry | undefined, roster: Roster): LeftOutReason | undefined {
  switch (standing) {
    case 'offline':
      return 'Offline';
    case 'newer':
      return 'Newer';
    case 'failed':
      return 'Failed';
    case 'foreign':
      return 'Foreign';
    case 'skipped':
      return roster.skipReason(id, entry);
    case 'updated':
    case 'inProgress':
    case 'pending':
    case 'retrying':
    case 'drifting':
      return undefined;
  }
}

/** The other policy that a collector belongs to; undefined where it belongs to this one. */
function ownerOf(id: string, standing: Standing, { ownership }: Seen['bound']): string | undefined {
  if (standing !== 'foreign') return undefined;
  const owner = ownership.owner(id);
  return owner && `${owner.namespace}/${owner.name}`;
}

function collectorOf(id: string, roster: Roster): PlannedCollector {
  const collector = roster.row(id)?.collector;
  return {
    id,
    name: collector?.name ?? id,
    version: collector?.collectorVersion || undefined,
    zone: collector?.timeZone,
  };
}

/** Members of a policy without stages. */
export function membersWithoutStages({ stages }: PlannedMembers): StageMembers {
  return stages.get(noStage) ?? emptyStage();
}
