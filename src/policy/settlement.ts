/**
 * What has been learnt since the last decision, folded into the attempts that are open, and what it teaches about how long upgrades
 * take. How a single attempt goes on is `attempt.ts`'s to say.
 */
import type { Stage } from '../api/generated/collector-version-policy.ts';
import { type Moment, settleEntry } from './attempt.ts';
import type { DecideInput } from './decide.ts';
import type { Draft } from './draft.ts';
import {
  type Ending,
  type Entry,
  hasFailed,
  type LedgerHeader,
  type StageRecord,
  unnamedStage,
  wantedVersion,
} from './ledger.ts';
import { firstTriedMs } from './rollout.ts';
import type { Roster } from './roster.ts';
import { soakMsOf } from './stage-progress.ts';
import type { Look } from './upgrade-duration.ts';
import type { TaskReads } from './watch-plan.ts';

export interface Settled {
  /** What it taught about how long upgrades take. */
  readonly looks: readonly Look[];
  /** The versions that attempts of earlier rollouts went to and failed, one for each. */
  readonly failedTowards: readonly string[];
}

/** Folds what was learnt into the open attempts. */
export function settleAll({ ledger, roster, observation, now, settings }: DecideInput, draft: Draft): Settled {
  const { listing, posted, tasks, flying, reads } = observation;
  const sweptSinceMs = listing.completeSinceMs();
  const looks: Look[] = [];
  const failedTowards: string[] = [];
  for (const entry of ledger.open().values()) {
    const { collectorId, open } = entry;
    if (!open) continue;
    const row = listing.row(collectorId);
    const task = tasks.get(collectorId);
    const observable = listing.observes(open.toVersion);
    const showsOrigin = !entry.back || listing.observes(ledger.header.target);
    const evidence = {
      row,
      posted: posted.get(collectorId),
      task,
      flying: flying.has(collectorId),
      observable,
      showsOrigin,
      sweptSinceMs,
    };
    const settled = settleEntry(entry, evidence, now, settings);
    const look = lookAt(entry, settled, row?.seenAtMs, reads.get(collectorId), task !== undefined);
    if (look) looks.push(look);
    // What belonged to an earlier target or selection is forgotten once it has ended: it is no member for that (U12).
    const stale = open.toVersion !== wantedVersion(entry, ledger.header.target) || !roster.selects(collectorId);
    if (stale && !settled?.open) draft.set(collectorId, undefined);
    else if (settled !== entry) draft.set(collectorId, settled);
    const isFormer = open.ours && !entry.back && open.toVersion !== ledger.header.target;
    if (isFormer && !settled?.open && hasFailed(settled?.ending)) failedTowards.push(open.toVersion);
  }
  return { looks, failedTowards };
}

/** What an upgrade that ended well teaches. One that failed or hangs says nothing of how long they take. */
function lookAt(
  { open }: Entry,
  after: Entry | undefined,
  seenAtMs: number | undefined,
  reads: TaskReads | undefined,
  byTask: boolean,
): Look | undefined {
  if (open?.state !== 'accepted' || open.needsGrace || after?.ending?.kind !== 'updated' || after.open)
    return undefined;
  const endedMs = byTask ? reads?.lastMs : seenAtMs;
  const unendedMs = byTask ? reads?.previousMs : reads?.lastMs;
  if (endedMs === undefined || endedMs <= open.sinceMs) return undefined;
  return { endedByMs: endedMs - open.sinceMs, unendedAtMs: Math.max(0, (unendedMs ?? 0) - open.sinceMs) };
}

/**
 * What rows say of those whose attempts have ended: who reached the target after all failed no more (U6), and who died or left it
 * before the stage that it was started in has ended failed after all.
 */
export function settleByRows(input: DecideInput, draft: Draft): void {
  const { ledger, roster, now } = input;
  const { target } = ledger.header;
  for (const id of roster.mended) {
    const entry = draft.entry(id);
    if (!entry?.ending || entry.open || entry.ending.kind === 'updated') continue;
    // Of who was there before this rollout only the death was on record.
    if (entry.ending.kind === 'died' && entry.used === 0) {
      draft.set(id, undefined);
      continue;
    }
    const ending = {
      ...entry.ending,
      kind: 'updated',
      toVersion: target,
      message: '',
      sinceMs: now.monotonicMs,
    } as const;
    draft.set(id, { ...entry, failures: Math.max(0, entry.failures - 1), ending });
  }
  const fell = (id: string, kind: 'died' | 'left', message: string) => {
    const entry = draft.entry(id);
    // Whom somebody else brought there says nothing about this rollout (U10).
    if (entry?.ending?.kind !== 'updated' || entry.open || entry.used === 0) return;
    if (!isWatched(entry, ledger.header, roster)) return;
    const ending = { ...entry.ending, kind, message, endedAtMs: now.wallMs, sinceMs: now.monotonicMs };
    draft.set(id, { ...entry, failures: entry.failures + 1, ending });
  };
  for (const id of roster.silent) fell(id, 'died', silentInSoak);
  for (const id of roster.members('drifting')) {
    if (draft.standing(id) === 'drifting') fell(id, 'left', 'left the target within the soak of its stage');
  }
  for (const id of diedBefore(input, draft)) {
    const stage = roster.stages.stages[roster.stageOf(id)];
    const record = recordOf(stage, ledger.header);
    if (!stage || !record || record.endedAtMs !== undefined || soakMsOf(stage) === 0) continue;
    draft.set(id, deathOf(id, stage.name, target, now));
  }
}

/** Who was at the target before this rollout and fell silent, where that says something of it, and is not on record. */
function* diedBefore({ ledger: { header }, roster }: DecideInput, draft: Draft): IterableIterator<string> {
  // A fleet may have many that do not run.
  if (!header.again && !header.stages?.some(({ adopted }) => adopted)) return;
  for (const id of roster.silentBefore) {
    if (draft.standing(id) === 'updated' && !draft.entry(id) && hasDiedSince(id, header, roster)) yield id;
  }
}

/**
 * Whether one that was at the target before this rollout fell silent since that version was tried first without having been complete since, or
 * since a stage began whose attempts are on no record.
 */
function hasDiedSince(id: string, header: LedgerHeader, roster: Roster): boolean {
  const record = recordOf(roster.stages.stages[roster.stageOf(id)], header);
  const tried = header.again ? firstTriedMs(header) : Number.POSITIVE_INFINITY;
  const lastMs = roster.row(id)?.collector.lastSeenAliveMs ?? 0;
  return lastMs >= (record?.adopted ? record.startedAtMs : tried);
}

function recordOf(stage: Pick<Stage, 'name'> | undefined, { stages = [] }: LedgerHeader): StageRecord | undefined {
  return stages.find(({ name }) => name === stage?.name);
}

function deathOf(
  collectorId: string,
  stage: string,
  toVersion: string,
  now: Moment,
): Entry & { readonly ending: Ending } {
  const { wallMs, monotonicMs } = now;
  const none = { taskId: undefined, lastSeenAliveMs: undefined };
  const times = { startedAtMs: wallMs, endedAtMs: wallMs, sinceMs: monotonicMs };
  const ending = { kind: 'died', toVersion, message: silentInSoak, ...none, ...times } as const;
  const blank = { before: undefined, used: 0, drifts: 0, back: false, open: undefined };
  return { collectorId, ...blank, failures: 1, stage, ending };
}

const silentInSoak = 'fell silent within the soak of its stage';

/** Whether the stage that it was started in is under way; where that is no more, the one that has it now. */
function isWatched({ collectorId, stage }: Entry, { stages = [] }: LedgerHeader, roster: Roster): boolean {
  if (stage === undefined) return false;
  const { stages: list } = roster.stages;
  const now = roster.stages.indexOf(stage) === undefined ? list[roster.stageOf(collectorId)]?.name : stage;
  return stages.some(({ name, endedAtMs }) => name === now && endedAtMs === undefined);
}

/** A person wants to go on: failures are forgiven, and who was taken back, or not, or left alone, is as any other again. */
export function forgive(input: DecideInput, draft: Draft): void {
  const { ledger, roster, now } = input;
  const { header } = ledger;
  for (const { collectorId } of ledger.entries()) {
    const entry = draft.entry(collectorId);
    if (!entry) continue;
    const { ending, open, back, failures } = entry;
    // Who is in no list any more leaves its place to others.
    if (!open && draft.standing(collectorId) === undefined) draft.set(collectorId, undefined);
    else if (back && !open) draft.set(collectorId, broughtThere(entry, header.target));
    else if (back) draft.set(collectorId, { ...entry, back: false });
    else if (ending?.kind === 'died') draft.set(collectorId, forgivenDeath(entry, ending));
    else if (!open && wasRefused(ending)) draft.set(collectorId, unrefused(forgiven(entry)));
    else if (roster.skipReason(collectorId, entry) === 'Contested')
      draft.set(collectorId, { ...forgiven(entry), drifts: 0 });
    else if (failures > 0 || hasFailed(ending)) draft.set(collectorId, forgiven(entry));
  }
  for (const id of diedBefore(input, draft)) {
    const death = deathOf(id, unnamedStage, header.target, now);
    draft.set(id, forgivenDeath(death, death.ending));
  }
}

/** Who died is not watched any more, or would be found dead again. */
function forgivenDeath(entry: Entry, ending: Ending): Entry {
  return { ...forgiven(entry), stage: undefined, ending: { ...ending, kind: 'updated' } };
}

/** Who was taken back is forgotten; who could not be is still where this rollout brought it, and may yet be taken back (U14). */
function broughtThere(entry: Entry, target: string): Entry | undefined {
  const { ending } = entry;
  if (!ending || (ending.kind === 'updated' && ending.toVersion !== target)) return undefined;
  const there = { ...ending, kind: 'updated', toVersion: target, message: '' } as const;
  return { ...entry, back: false, used: 1, failures: 0, ending: there };
}

/** Whether the service would not upgrade it, or not for us, so that nothing was tried. */
function wasRefused(ending: Ending | undefined): boolean {
  return ending?.kind === 'refused' || ending?.kind === 'invalid';
}

/** As if nobody had asked the service; undefined where nothing is left to remember. */
function unrefused(entry: Entry): Entry | undefined {
  return entry.used === 0 && entry.drifts === 0 ? undefined : { ...entry, ending: undefined };
}

/** Whom this rollout has brought to the target it takes back all the same, if it comes to that. */
function forgiven({ late: _, ...entry }: Entry): Entry {
  const { ending, used } = entry;
  const arrived = ending?.kind === 'updated' || ending?.kind === 'died' || ending?.kind === 'left';
  return { ...entry, failures: 0, used: arrived ? Math.min(1, used) : 0 };
}

/** A person has left them out by another selection: what they came to counts no more, also for a process that takes over (U12). */
export function forgetUnselected({ ledger, roster }: DecideInput, draft: Draft): void {
  if (!roster.isReselected || ledger.header.selection === roster.selection) return;
  for (const { collectorId, open } of ledger.entries()) {
    if (!open && roster.row(collectorId) && !roster.selects(collectorId)) draft.set(collectorId, undefined);
  }
}

/** The selection to note in the ledger: the present one, once nothing is in flight that only the former one wants. */
export function selectionAfter({ ledger, roster }: DecideInput, draft: Draft): string {
  const before = ledger.header.selection ?? roster.selection;
  if (before === roster.selection) return before;
  for (const { collectorId } of draft.open()) if (!roster.selects(collectorId)) return before;
  return roster.selection;
}

/** The build is gone, so that it was refused says nothing of the collectors: they are as any other once it is back (U11). */
export function forgetRefusals(roster: Roster, draft: Draft): void {
  for (const id of roster.members('skipped')) {
    const entry = draft.entry(id);
    if (entry?.ending?.kind !== 'refused' || entry.open) continue;
    draft.set(id, unrefused(entry));
  }
}
