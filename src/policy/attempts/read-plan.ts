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
  const { observation, now, settings, memberIndex } = input;
  const { listing } = observation;
  const isWaiting = pending.counts().pending > 0;
  const watch = planWatch({
    open: pending.open(),
    listing,
    reads: observation.reads,
    typicalMs: observation.typicalMs,
    pressed: admission.pressed || !isWaiting,
    nowMs: now.monotonicMs,
    settings,
  });
  const pages = new Map(watch.pages);
  let sweepAfterMs = watch.sweepAfterMs;
  if (sweepFromMs !== undefined) {
    sweepAfterMs = Math.max(sweepAfterMs ?? 0, monotonicOf(sweepFromMs, now));
  }
  const landed = lookForLanded(input, pending);
  for (const [id, sentAfterMs] of [...admission.listingsNeeded, ...landed.listingsNeeded]) {
    const page = listing.pageOf(id);
    const readMs = page === undefined ? undefined : (listing.pageReadMs(page) ?? 0);
    if (page !== undefined && readMs !== undefined && readMs < sentAfterMs) {
      pages.set(page, Math.max(pages.get(page) ?? 0, sentAfterMs));
    } else if (memberIndex.row(id)) {
      sweepAfterMs = Math.max(sweepAfterMs ?? 0, sentAfterMs);
    }
  }
  const nextMs = Math.min(watch.nextMs, landed.nextMs);
  const sweepShare = !admission.refusal && isWaiting ? workingShare : restingShare;
  return { ...watch, pages, ...planSweep(input, { sweepAfterMs, nextMs }), sweepShare };
}

/**
 * Pages to read for collectors whose upgrade is missing in this ledger, such as an upgrade to a former target. Otherwise these
 * collectors would be read only by the next sweep of the whole list, and sweeps of long lists are rare. Collectors on the same
 * page share one read (U9).
 */
function lookForLanded({ memberIndex, now, settings }: DecideInput, pending: PendingChanges) {
  const listingsNeeded: (readonly [string, number])[] = [];
  let nextMs = Number.POSITIVE_INFINITY;
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

type SweepPlan = Pick<WatchPlan, 'sweepAfterMs' | 'nextMs'>;

/**
 * Plans a sweep (a read of the whole collector list) for a collector whose page is unknown. If a sweep may not be requested yet,
 * returns the time of the next check instead (U9).
 */
function planSweep({ now, observation }: DecideInput, wanted: SweepPlan): SweepPlan {
  if (wanted.sweepAfterMs === undefined) return wanted;
  const completeSinceMs = observation.listing.completeSinceMs() ?? 0;
  const soonestMs = completeSinceMs + restingShare * observation.listing.sweepMs();
  if (soonestMs <= now.monotonicMs) return wanted;
  return { sweepAfterMs: undefined, nextMs: Math.min(wanted.nextMs, soonestMs) };
}
