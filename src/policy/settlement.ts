/**
 * What has been learnt since the last decision, folded into the attempts that are open, and what it teaches about how long upgrades
 * take. How a single attempt goes on is `attempt.ts`'s to say.
 */
import { settleEntry } from './attempt.ts';
import type { DecideInput } from './decide.ts';
import type { Draft } from './draft.ts';
import { type Entry, hasFailed, type Ledger, type LedgerHeader, wantedVersion } from './ledger.ts';
import type { Roster } from './roster.ts';
import type { Look } from './upgrade-duration.ts';
import type { TaskReads } from './watch-plan.ts';

/** Folds what was learnt into the open attempts; returns what it taught about how long upgrades take. */
export function settleAll({ ledger, roster, observation, now, settings }: DecideInput, draft: Draft): readonly Look[] {
  const { listing, posted, tasks, flying, reads } = observation;
  const sweptSinceMs = listing.completeSinceMs();
  const looks: Look[] = [];
  for (const entry of ledger.open().values()) {
    const { collectorId, open } = entry;
    if (!open) continue;
    const row = listing.row(collectorId);
    const task = tasks.get(collectorId);
    const observable = listing.observes(open.toVersion);
    const evidence = {
      row,
      posted: posted.get(collectorId),
      task,
      flying: flying.has(collectorId),
      observable,
      sweptSinceMs,
    };
    const settled = settleEntry(entry, evidence, now, settings);
    const look = lookAt(entry, settled, row?.seenAtMs, reads.get(collectorId), task !== undefined);
    if (look) looks.push(look);
    // What belonged to an earlier target or selection is forgotten once it has ended: it is no member for that (U12).
    const stale = open.toVersion !== wantedVersion(entry, ledger.header.target) || !roster.selects(collectorId);
    if (stale && !settled?.open) draft.set(collectorId, undefined);
    else if (settled !== entry) draft.set(collectorId, settled);
  }
  return looks;
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
export function settleByRows({ ledger, roster, now }: DecideInput, draft: Draft): void {
  const { target } = ledger.header;
  for (const id of roster.mended) {
    const entry = draft.entry(id);
    if (!entry?.ending || entry.open || entry.ending.kind === 'updated') continue;
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
  for (const id of roster.silent) fell(id, 'died', 'fell silent within the soak of its stage');
  for (const id of roster.members('drifting')) {
    if (draft.standing(id) === 'drifting') fell(id, 'left', 'left the target within the soak of its stage');
  }
}

/** Whether the stage that it was started in is under way; where that is no more, the one that has it now. */
function isWatched({ collectorId, stage }: Entry, { stages = [] }: LedgerHeader, roster: Roster): boolean {
  if (stage === undefined) return false;
  const { stages: list } = roster.stages;
  const now = roster.stages.indexOf(stage) === undefined ? list[roster.stageOf(collectorId)]?.name : stage;
  return stages.some(({ name, endedAtMs }) => name === now && endedAtMs === undefined);
}

/** A person wants to go on: failures are forgiven, and who was taken back, or not, is as any other again. */
export function forgive(ledger: Ledger, draft: Draft): void {
  for (const { collectorId } of ledger.entries()) {
    const entry = draft.entry(collectorId);
    if (!entry) continue;
    const { ending, open, back, failures } = entry;
    // Who is in no list any more leaves its place to others.
    if (!open && draft.standing(collectorId) === undefined) draft.set(collectorId, undefined);
    else if (back && !open) draft.set(collectorId, broughtThere(entry, ledger.header.target));
    else if (back) draft.set(collectorId, { ...entry, back: false });
    // Who died is not watched any more, or would be found dead again.
    else if (ending?.kind === 'died')
      draft.set(collectorId, { ...forgiven(entry), stage: undefined, ending: { ...ending, kind: 'updated' } });
    else if (failures > 0 || hasFailed(ending)) draft.set(collectorId, forgiven(entry));
  }
}

/** Who was taken back is forgotten; who could not be is still where this rollout brought it, and may yet be taken back (U14). */
function broughtThere(entry: Entry, target: string): Entry | undefined {
  const { ending } = entry;
  if (!ending || (ending.kind === 'updated' && ending.toVersion !== target)) return undefined;
  const there = { ...ending, kind: 'updated', toVersion: target, message: '' } as const;
  return { ...entry, back: false, used: 1, failures: 0, ending: there };
}

/** Whom this rollout has brought to the target it takes back all the same, if it comes to that. */
function forgiven(entry: Entry): Entry {
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
    draft.set(id, entry.used === 0 && entry.drifts === 0 ? undefined : { ...entry, ending: undefined });
  }
}
