/**
 * Plans what a policy reads next: pages of the collector list, upgrade tasks, or the whole list. The plan uses as few
 * requests as possible (U9).
 */
import { idleShare } from '../../fleet/fleet-listing.ts';
import { monotonicOf } from '../attempts/attempt.ts';
import { planWatch, type WatchPlan } from '../attempts/watch-plan.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import type { DecideInput } from '../rollout/decide-input.ts';
import type { Admission } from './admission.ts';

/**
 * Minimum interval between two reads of the whole collector list while upgrades are waiting, as a multiple of the
 * duration of one read (U9).
 */
export const workingShare = 50;

export interface ReadPlan extends WatchPlan {
  /** Minimum interval between two reads of the whole collector list, as a multiple of the duration of one read. */
  readonly sweepShare: number;
}

/**
 * Plans the next reads of a policy.
 * @param sweepFromMs earliest wall-clock time in ms for the read of the whole list that must follow a soak; undefined
 * if no stage is waiting for this read
 */
export function planReads(
  input: DecideInput,
  pending: PendingChanges,
  admission: Admission,
  sweepFromMs: number | undefined,
): ReadPlan {
  const { observation, now, settings } = input;
  const { listing, reads, typicalMs } = observation;
  const isWaiting = pending.counts().pending > 0;
  const unknownUpgrades = readsOfUnknownUpgrades(input, pending);
  const watch = planWatch({
    open: pending.open(),
    needed: [...admission.listingsNeeded, ...unknownUpgrades.listingsNeeded],
    listing,
    reads,
    typicalMs,
    pressed: admission.pressed || !isWaiting,
    nowMs: now.monotonicMs,
    settings,
  });
  const sweepShare = !admission.refusal && isWaiting ? workingShare : idleShare;
  const nextMs = Math.min(watch.nextMs, unknownUpgrades.nextMs);
  const sweepAfterMs = latest(watch.sweepAfterMs, monotonicOf(sweepFromMs, now));
  if (sweepAfterMs === undefined) return { ...watch, nextMs, sweepShare };
  // Between two reads of the whole list, a minimum interval must always pass (U9).
  const soonestMs = (listing.completeSinceMs() ?? 0) + idleShare * listing.sweepMs();
  if (soonestMs <= now.monotonicMs) return { ...watch, nextMs, sweepShare, sweepAfterMs };
  return { ...watch, nextMs: Math.min(nextMs, soonestMs), sweepShare, sweepAfterMs: undefined };
}

function latest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? (left ?? right) : Math.max(left, right);
}

/**
 * Plans reads of list pages for running upgrades that are not in the ledger, such as upgrades to a former target
 * version (U9).
 */
function readsOfUnknownUpgrades({ memberIndex, now, settings }: DecideInput, pending: PendingChanges) {
  const listingsNeeded: (readonly [string, number])[] = [];
  let nextMs = Infinity;
  for (const id of memberIndex.members('inProgress')) {
    const entry = pending.entry(id);
    const sentAfterMs = entry?.open ? undefined : memberIndex.unseenSinceMs(id, entry);
    if (sentAfterMs === undefined) continue;
    const dueMs = sentAfterMs + settings.pageWaitMs;
    if (dueMs <= now.monotonicMs) listingsNeeded.push([id, sentAfterMs]);
    else nextMs = Math.min(nextMs, dueMs);
  }
  return { listingsNeeded, nextMs };
}
