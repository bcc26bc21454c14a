/**
 * Applies new evidence to open attempts, and learns durations of upgrades from it. The state machine of a single attempt is in
 * `attempt.ts`.
 */
import type { Stage } from '../api/generated/collector-version-policy.ts';
import { type Moment, settleEntry } from './attempt.ts';
import type { DecideInput } from './decide-input.ts';
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
import type { Roster } from './roster.ts';
import { soakMsOf } from './stage-progress.ts';
import type { Look } from './upgrade-duration.ts';
import type { TaskReads } from './watch-plan.ts';

/** Applies new evidence to all open attempts. Returns the observed durations of upgrades. */
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
    // An attempt towards an earlier target or for an earlier selection is forgotten after its end. It does not make the collector a
    // member (U12).
    const stale = open.toVersion !== wantedVersion(entry, ledger.header.target) || !roster.selects(collectorId);
    if (stale && !settled?.open) draft.set(collectorId, undefined);
    else if (settled !== entry) draft.set(collectorId, settled);
  }
  return looks;
}

/** Observed duration of a successful upgrade. Failed and stuck upgrades give no duration. */
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
 * Applies listing rows to ended attempts. A collector that reached the target after a failure is no longer failed (U6). A collector
 * that died or left the target before its stage ended becomes a failure.
 */
export function settleByRows(input: DecideInput, draft: Draft): void {
  const { ledger, roster, now } = input;
  const { target } = ledger.header;
  for (const id of roster.mended) {
    const entry = draft.entry(id);
    if (!entry?.ending || entry.open || entry.ending.kind === 'updated') continue;
    // The death was the only record of a collector that ran the target before this rollout.
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
    // An upgrade that logfleet did not start says nothing about this rollout (U10).
    if (entry?.ending?.kind !== 'updated' || entry.open || entry.used === 0) return;
    if (!isWatched(entry, ledger.header, roster)) return;
    const ending = { ...entry.ending, kind, message, endedAtMs: now.wallMs, sinceMs: now.monotonicMs };
    draft.set(id, { ...entry, failures: entry.failures + 1, ending });
  };
  for (const id of roster.silent) fell(id, 'died', silentInSoak);
  for (const id of roster.members('drifting')) {
    if (draft.standing(id) === 'drifting') fell(id, 'left', 'left the target within the soak of its stage');
  }
  for (const id of diedUntouched(input, draft)) {
    const stage = roster.stages.stages[roster.stageOf(id)];
    if (stage && soakMsOf(stage) > 0) draft.set(id, deathOf(id, stage.name, target, now));
  }
}

/**
 * Members of an unproven rollout that were at the target before it began, gave a sign of life after their stage began, and have died since.
 * In any other rollout the death of such a collector says nothing about the target.
 */
function* diedUntouched({ ledger: { header }, roster }: DecideInput, draft: Draft): IterableIterator<string> {
  if (!header.unproven) return;
  for (const id of roster.silentBefore) {
    const record = recordOf(roster.stages.stages[roster.stageOf(id)], header);
    const lastMs = roster.row(id)?.collector.lastSeenAliveMs ?? 0;
    if (!record || record.endedAtMs !== undefined || lastMs < record.startedAtMs) continue;
    if (draft.standing(id) === 'updated' && !draft.entry(id)) yield id;
  }
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

/** Whether the stage in which the collector was started is under way, or its present stage if that stage no longer exists. */
function isWatched({ collectorId, stage }: Entry, { stages = [] }: LedgerHeader, roster: Roster): boolean {
  if (stage === undefined) return false;
  const { stages: list } = roster.stages;
  const now = roster.stages.indexOf(stage) === undefined ? list[roster.stageOf(collectorId)]?.name : stage;
  return stages.some(({ name, endedAtMs }) => name === now && endedAtMs === undefined);
}

/**
 * Applies a person's retry: failures are forgiven. Collectors that were rolled back, not rolled back, or left alone are treated
 * like all others again.
 */
export function forgive(input: DecideInput, draft: Draft): void {
  const { ledger, roster, now } = input;
  const { header } = ledger;
  for (const { collectorId } of ledger.entries()) {
    const entry = draft.entry(collectorId);
    if (!entry) continue;
    const { ending, open, back, failures } = entry;
    // A collector that left the listing gives its place to another.
    if (!open && draft.standing(collectorId) === undefined) draft.set(collectorId, undefined);
    else if (back && !open) draft.set(collectorId, broughtThere(entry, header.target));
    else if (back) draft.set(collectorId, { ...entry, back: false });
    else if (ending?.kind === 'died') draft.set(collectorId, forgivenDeath(entry, ending));
    else if (!open && wasRefused(ending)) draft.set(collectorId, unrefused(forgiven(entry)));
    else if (roster.skipReason(collectorId, entry) === 'Contested')
      draft.set(collectorId, { ...forgiven(entry), drifts: 0 });
    else if (failures > 0 || hasFailed(ending)) draft.set(collectorId, forgiven(entry));
  }
  for (const id of diedUntouched(input, draft)) {
    const death = deathOf(id, unnamedStage, header.target, now);
    draft.set(id, forgivenDeath(death, death.ending));
  }
}

/** The collector is no longer watched, or the same death would be found again. */
function forgivenDeath(entry: Entry, ending: Ending): Entry {
  return { ...forgiven(entry), stage: undefined, ending: { ...ending, kind: 'updated' } };
}

/**
 * Forgets a collector that was rolled back. A collector that could not be rolled back keeps its record, because a later rollback
 * may include it (U14).
 */
function broughtThere(entry: Entry, target: string): Entry | undefined {
  const { ending } = entry;
  if (!ending || (ending.kind === 'updated' && ending.toVersion !== target)) return undefined;
  const there = { ...ending, kind: 'updated', toVersion: target, message: '' } as const;
  return { ...entry, back: false, used: 1, failures: 0, ending: there };
}

/** Whether the service refused the upgrade so that nothing was tried. */
function wasRefused(ending: Ending | undefined): boolean {
  return ending?.kind === 'refused' || ending?.kind === 'invalid';
}

/** The entry without its refusal; undefined when the entry can be forgotten. */
function unrefused(entry: Entry): Entry | undefined {
  return entry.used === 0 && entry.drifts === 0 ? undefined : { ...entry, ending: undefined };
}

/** A collector that this rollout upgraded is still rolled back if a rollback comes. */
function forgiven({ late: _, ...entry }: Entry): Entry {
  const { ending, used } = entry;
  const arrived = ending?.kind === 'updated' || ending?.kind === 'died' || ending?.kind === 'left';
  return { ...entry, failures: 0, used: arrived ? Math.min(1, used) : 0 };
}

/** Forgets ended attempts of collectors that a changed selection excludes, also for later processes (U12). */
export function forgetUnselected({ ledger, roster }: DecideInput, draft: Draft): void {
  if (!roster.isReselected || ledger.header.selection === roster.selection) return;
  for (const { collectorId, open } of ledger.entries()) {
    if (!open && roster.row(collectorId) && !roster.selects(collectorId)) draft.set(collectorId, undefined);
  }
}

/** Selection to record in the ledger: the present one, when no attempt is in flight for the former selection only. */
export function selectionAfter({ ledger, roster }: DecideInput, draft: Draft): string {
  const before = ledger.header.selection ?? roster.selection;
  if (before === roster.selection) return before;
  for (const { collectorId } of draft.open()) if (!roster.selects(collectorId)) return before;
  return roster.selection;
}

/**
 * Forgets refusals of a withdrawn build. They say nothing about the collectors, which are tried again when the build is back (U11).
 */
export function forgetRefusals(roster: Roster, draft: Draft): void {
  for (const id of roster.members('skipped')) {
    const entry = draft.entry(id);
    if (entry?.ending?.kind !== 'refused' || entry.open) continue;
    draft.set(id, unrefused(entry));
  }
}
