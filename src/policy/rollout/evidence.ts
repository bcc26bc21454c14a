/**
 * Evaluates a policy's open upgrades, based on responses, task statuses and listings. Also measures how long upgrades
 * take. `attempt.ts` contains the rules for a single upgrade.
 */
import type { Instant } from '../../base/clock.ts';
import { evaluateEntry } from '../attempts/attempt.ts';
import type { DurationSample } from '../attempts/upgrade-duration.ts';
import type { TaskReads } from '../attempts/watch-plan.ts';
import {
  type Counted,
  type Ending,
  type Entry,
  hasFailed,
  type LedgerHeader,
  type StageRecord,
  type Tally,
  wantedVersion,
} from '../ledger/ledger.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import type { MemberView } from '../members/policy-member-index.ts';
import { waitingStages } from '../members/stages.ts';
import type { DecideInput } from './decide-input.ts';

/** Evaluates all open upgrade attempts of the policy. Returns the durations of the upgrades that have ended. */
export function evaluateAttempts(input: DecideInput, pending: PendingChanges): readonly DurationSample[] {
  const { ledger, memberIndex, observation, now, settings } = input;
  const { listing, posted, tasks, inFlight, reads } = observation;
  const sweptSinceMs = listing.completeSinceMs();
  const samples: DurationSample[] = [];
  for (const entry of ledger.open().values()) {
    const { collectorId, open } = entry;
    if (!open) continue;
    const row = listing.row(collectorId);
    const task = tasks.get(collectorId);
    const observable = listing.observes(open.toVersion);
    const showsOrigin = !entry.isRollback || listing.observes(ledger.header.target);
    const evidence = {
      row,
      posted: posted.get(collectorId),
      task,
      inFlight: inFlight.has(collectorId),
      observable,
      showsOrigin,
      sweptSinceMs,
    };
    const evaluated = evaluateEntry(entry, evidence, now, settings);
    const sample = sampleOf(entry, evaluated, row?.seenAtMs, reads.get(collectorId), task !== undefined);
    if (sample) samples.push(sample);
    // An ended attempt is forgotten if the target has changed, or if the policy no longer selects the collector (U12).
    const stale =
      open.toVersion !== wantedVersion(entry, ledger.header.target) || !memberIndex.member(collectorId)?.selected;
    if (stale && !evaluated?.open) pending.set(collectorId, undefined);
    else if (evaluated !== entry)
      pending.set(
        collectorId,
        evaluated?.ending === entry.ending ? evaluated : evaluated && countEnd(input, pending, entry, evaluated),
      );
  }
  return samples;
}

/** Adds an ended upgrade attempt to the counts of its rollout and stage (R5). */
function countEnd(input: DecideInput, pending: PendingChanges, before: Entry, entry: Entry): Entry {
  const { ending, used, isRollback } = entry;
  if (!ending || isRollback || used === 0 || !before.open?.ours) return entry;
  const isFailure = ending.kind === 'failed' || ending.kind === 'timedOut';
  if (!isFailure && ending.kind !== 'updated') return entry;
  const stage = talliedStage(input, entry.collectorId);
  pending.count(stage, { finished: 1, failed: Number(isFailure) });
  return { ...entry, counted: countIn(input, stage) };
}

/**
 * Counts the upgrades of a stage's members that ended before the stage started, so that earlier failures count towards
 * the stage's `maxFailures` (R5). Only the last ended upgrade of each member is counted.
 */
export function countEarlierEnds(
  pending: PendingChanges,
  header: LedgerHeader,
  members: readonly string[],
  stage: number,
): Tally {
  let [finished, failed] = [0, 0];
  for (const id of members) {
    const entry = pending.entry(id);
    if (entry?.counted?.tally !== header.tally.number || entry.counted.stage !== undefined) continue;
    pending.set(id, { ...entry, counted: { tally: header.tally.number, stage } });
    finished++;
    failed += Number(isCounted(entry, header));
  }
  return { finished, failed };
}

function countIn({ ledger: { header } }: DecideInput, stage: number | undefined): Counted {
  return { tally: header.tally.number, stage };
}

/**
 * Returns the index of the stage that counts the collector's ended upgrade, or undefined if no stage counts it.
 * - While the collector's own stage is running, that stage counts the upgrade.
 * - After the collector's own stage has ended, the rollout's last stage counts the upgrade while the last stage is
 *   running.
 */
function talliedStage({ policy, ledger: { header }, memberIndex }: DecideInput, id: string): number | undefined {
  const { stages = [] } = header;
  const own = memberIndex.stageOf(id);
  const isRunning = (index: number) => stages[index] !== undefined && stages[index].endedAtMs === undefined;
  if (isRunning(own)) return own;
  const last = stages.length - 1;
  return own <= last && isRunning(last) && waitingStages(policy.spec, header).length === 0 ? last : undefined;
}

function sampleOf(
  { open }: Entry,
  after: Entry | undefined,
  seenAtMs: number | undefined,
  reads: TaskReads | undefined,
  byTask: boolean,
): DurationSample | undefined {
  if (open?.state !== 'accepted' || open.needsGrace || after?.ending?.kind !== 'updated' || after.open)
    return undefined;
  const endedMs = byTask ? reads?.lastMs : seenAtMs;
  const unendedMs = byTask ? reads?.previousMs : reads?.lastMs;
  if (endedMs === undefined || endedMs <= open.sinceMs) return undefined;
  return { endedByMs: endedMs - open.sinceMs, unendedAtMs: Math.max(0, (unendedMs ?? 0) - open.sinceMs) };
}

/**
 * Corrects the outcomes of ended upgrades if the service's list contradicts them.
 * - A failed collector that is now running the target version no longer counts as failed (U6).
 * - An upgraded collector that goes offline or leaves the target version before its stage ends counts as failed (R5).
 */
export function evaluateEndings(input: DecideInput, pending: PendingChanges): void {
  const { ledger, memberIndex, now } = input;
  const { target } = ledger.header;
  for (const id of memberIndex.members('mended')) {
    const entry = pending.entry(id);
    if (!entry?.ending || entry.open || entry.ending.kind === 'updated') continue;
    const isKnown = isCounted(entry, ledger.header);
    // The entry only recorded that the collector was offline. The collector is alive again, so the entry is deleted.
    if (entry.ending.kind === 'died' && entry.used === 0) {
      if (isKnown) pending.count(entry.counted?.stage, { finished: -1, failed: -1 });
      pending.set(id, undefined);
      continue;
    }
    const times = { endedAtMs: now.wallMs, sinceMs: now.monotonicMs };
    const there = { kind: 'updated', toVersion: target, message: '', ...times } as const;
    const stage = isKnown ? entry.counted?.stage : memberIndex.stageOf(id);
    pending.count(stage, { finished: 0, failed: isKnown ? -1 : 0 });
    // A retry may have reset the number of attempts to 0. The number must be at least 1, so that a rollback includes
    // this upgraded collector.
    pending.set(id, { ...entry, used: Math.max(1, entry.used), ending: { ...entry.ending, ...there } });
  }
  for (const id of memberIndex.members('silent')) countAsFailed(input, pending, id, 'died', silentInSoak);
  for (const id of memberIndex.members('drifting')) {
    if (pending.stateOf(id) === 'drifting')
      countAsFailed(input, pending, id, 'left', 'left the target version before its stage finished soaking');
  }
  for (const id of diedUntouched(input, pending)) {
    const stage = memberIndex.stageOf(id);
    pending.count(stage, { finished: 1, failed: 1 });
    pending.set(id, { ...offlineEntry(id, target, now), counted: countIn(input, stage) });
  }
}

function isCounted({ counted, ending, failureCleared }: Entry, { tally }: LedgerHeader): boolean {
  return !failureCleared && counted?.tally === tally.number && (hasFailed(ending) || ending?.kind === 'left');
}

/** Counts an upgraded collector as failed, because it went offline or left the target version (R5). */
function countAsFailed(
  input: DecideInput,
  pending: PendingChanges,
  id: string,
  kind: 'died' | 'left',
  message: string,
): void {
  const { ledger, memberIndex, now } = input;
  const { header } = ledger;
  const entry = pending.entry(id);
  // Upgrades that logfleet did not start are not counted as failures (U10).
  if (entry?.ending?.kind !== 'updated' || entry.open || entry.used === 0 || entry.failureCleared) return;
  const isKnown = entry.counted?.tally === header.tally.number;
  // Adds the failure to the stage whose counts include the upgrade.
  const stage = (isKnown ? entry.counted?.stage : undefined) ?? memberIndex.stageOf(id);
  const record = header.stages?.[stage];
  if (!record || record.endedAtMs !== undefined) return;
  pending.count(stage, { finished: isKnown ? 0 : 1, failed: 1 });
  const ending = { ...entry.ending, kind, message, endedAtMs: now.wallMs, sinceMs: now.monotonicMs };
  pending.set(id, { ...entry, counted: countIn(input, stage), ending });
}

/**
 * Returns the collectors that already ran the target version before the rollout, and went offline after their stage had
 * started (R6).
 */
function* diedUntouched(
  { ledger: { header }, memberIndex }: DecideInput,
  pending: PendingChanges,
): IterableIterator<string> {
  if (!header.unproven) return;
  for (const id of memberIndex.members('silentBefore')) {
    const record: StageRecord | undefined = header.stages?.[memberIndex.stageOf(id)];
    const lastMs = memberIndex.row(id)?.collector.lastSeenAliveMs ?? 0;
    if (!record?.soakMs || record.endedAtMs !== undefined || lastMs < record.startedAtMs) continue;
    if (pending.stateOf(id) === 'updated' && !pending.entry(id)) yield id;
  }
}

function offlineEntry(collectorId: string, toVersion: string, now: Instant): Entry & { readonly ending: Ending } {
  const { wallMs, monotonicMs } = now;
  const none = { taskId: undefined, lastSeenAliveMs: undefined };
  const times = { startedAtMs: wallMs, endedAtMs: wallMs, sinceMs: monotonicMs };
  const ending = { kind: 'died', toVersion, message: silentInSoak, ...none, ...times } as const;
  return { collectorId, before: undefined, used: 0, drifts: 0, isRollback: false, open: undefined, ending };
}

const silentInSoak = 'went offline before its stage finished soaking';

/**
 * Applies a user's retry. Earlier failures no longer count. Collectors whose upgrades were refused or rolled back may
 * be upgraded again.
 */
export function applyRetry(input: DecideInput, pending: PendingChanges): void {
  const { ledger, memberIndex } = input;
  const { header } = ledger;
  for (const entry of [...pending.entries()]) {
    const { collectorId, ending, open, isRollback } = entry;
    if (!open && pending.stateOf(collectorId) === undefined) pending.set(collectorId, undefined);
    else if (isRollback && !open) pending.set(collectorId, retriedAfterRollback(entry, header.target));
    else if (isRollback) pending.set(collectorId, { ...entry, isRollback: false });
    // A collector that went offline counts as updated after the retry, so that its failure is not counted again.
    else if (ending?.kind === 'died')
      pending.set(collectorId, {
        ...withAttemptsReset(entry),
        failureCleared: true,
        ending: { ...ending, kind: 'updated' },
      });
    else if (!open && (ending?.kind === 'refused' || ending?.kind === 'invalid'))
      pending.set(collectorId, unrefused(withAttemptsReset(entry)));
    else if (memberIndex.skipReason(collectorId, entry) === 'Contested')
      pending.set(collectorId, { ...withAttemptsReset(entry), drifts: 0 });
    else if (hasFailed(ending) || ending?.kind === 'left' || ending?.kind === 'offline')
      pending.set(collectorId, withAttemptsReset(entry));
  }
}

/**
 * Returns a collector's ledger entry after a user has retried a rolled-back rollout (U14). Returns undefined if the
 * collector was rolled back, because its entry must then be deleted.
 */
function retriedAfterRollback(entry: Entry, target: string): Entry | undefined {
  const { ending } = entry;
  if (!ending || (ending.kind === 'updated' && ending.toVersion !== target)) return undefined;
  const upgraded = { ...ending, kind: 'updated', toVersion: target, message: '' } as const;
  return { ...entry, isRollback: false, used: 1, ending: upgraded };
}

/** Removes the service's refusal from a ledger entry. Returns undefined if the entry is then empty. */
function unrefused(entry: Entry): Entry | undefined {
  return entry.used === 0 && entry.drifts === 0 ? undefined : { ...entry, ending: undefined };
}

/**
 * Resets the number of attempts after a user's retry. A collector that is being upgraded or has been upgraded keeps one
 * attempt, so that a later rollback includes this collector.
 */
function withAttemptsReset(entry: Entry): Entry {
  const { ending, open, used } = entry;
  const arrived = ending?.kind === 'updated' || ending?.kind === 'died';
  return { ...entry, used: open || arrived ? Math.min(1, used) : 0 };
}

/** Forgets the ended attempts of collectors that a changed selector no longer matches (U12). */
export function forgetUnselected({ ledger, memberIndex }: DecideInput, pending: PendingChanges): void {
  if (!memberIndex.isReselected || ledger.header.selection === memberIndex.selection) return;
  for (const { collectorId, open } of ledger.entries()) {
    if (!open && memberIndex.row(collectorId) && !memberIndex.member(collectorId)?.selected)
      pending.set(collectorId, undefined);
  }
}

/**
 * Returns the digest of the policy's selector for the ledger header. Returns the former digest while collectors that
 * the policy no longer selects are still being upgraded.
 */
export function selectionAfter({ ledger, memberIndex }: DecideInput, pending: PendingChanges): string {
  const before = ledger.header.selection ?? memberIndex.selection;
  if (before === memberIndex.selection) return before;
  for (const { collectorId } of pending.open()) if (!memberIndex.member(collectorId)?.selected) return before;
  return memberIndex.selection;
}

/**
 * Deletes recorded refusals to upgrade to a build that the service has withdrawn. If the service offers the build
 * again, logfleet then retries the upgrades (U11).
 */
export function forgetRefusals(memberIndex: MemberView, pending: PendingChanges): void {
  for (const id of memberIndex.members('skipped')) {
    const entry = pending.entry(id);
    if (entry?.ending?.kind !== 'refused' || entry.open) continue;
    pending.set(id, unrefused(entry));
  }
}
