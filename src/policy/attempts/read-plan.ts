/**
 * Plans the reads that a policy needs next: pages of the collector list, upgrade tasks, and sweeps (reads of the whole list)
 * (U9). A read shows the end of an open attempt (`watch-plan.ts`), or the state of a collector that may not start before a new
 * listing, or of a collector whose upgrade is missing in the ledger. When the rows of the shared listing become too old, the
 * listing itself requests a sweep.
 */
import { restingShare } from '../../fleet/fleet-listing.ts';
import type { DecideInput } from '../decide-input.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import type { Admission } from './admission.ts';
import { monotonicOf } from './attempt.ts';
import { planWatch, type WatchPlan } from './watch-plan.ts';

/**
 * Divisor that limits the sweeps (reads of the whole list) while upgrades wait: sweeps may use one fiftieth of the request
 * budget. At other times they may use one tenth (U9).
 */
export const workingShare = 50;

export interface ReadPlan extends WatchPlan {
  /** Minimum interval between sweeps, as a multiple of the duration of one sweep. */
  readonly sweepShare: number;
}

/**
 * Plans the next reads of a policy.
 * @param sweepFromMs wall time in ms; a sweep sent at or after this time is needed before a soak can end
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
  const landed = lookForLanded(input, pending);
  const watch = planWatch({
    open: pending.open(),
    needed: [...admission.listingsNeeded, ...landed.listingsNeeded],
    listing,
    reads,
    typicalMs,
    pressed: admission.pressed || !isWaiting,
    nowMs: now.monotonicMs,
    settings,
  });
  const sweepShare = !admission.refusal && isWaiting ? workingShare : restingShare;
  const nextMs = Math.min(watch.nextMs, landed.nextMs);
  const sweepAfterMs = latest(watch.sweepAfterMs, monotonicOf(sweepFromMs, now));
  if (sweepAfterMs === undefined) return { ...watch, nextMs, sweepShare };
  // A sweep (a read of the whole list) for single collectors or for the end of a soak is as rare as a sweep while no upgrade
  // waits (U9).
  const soonestMs = (listing.completeSinceMs() ?? 0) + restingShare * listing.sweepMs();
  if (soonestMs <= now.monotonicMs) return { ...watch, nextMs, sweepShare, sweepAfterMs };
  return { ...watch, nextMs: Math.min(nextMs, soonestMs), sweepShare, sweepAfterMs: undefined };
}

function latest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? (left ?? right) : Math.max(left, right);
}

/**
 * Pages to read for collectors whose upgrade is missing in this ledger, such as an upgrade to a former target. Otherwise these
 * collectors would be read only by the next sweep of the whole list, and sweeps of long lists are rare. Collectors on the same
 * page share one read (U9).
 */
function lookForLanded({ memberIndex, now, settings }: DecideInput, pending: PendingChanges) {
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
