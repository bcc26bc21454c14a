/**
 * Plans the pages, tasks and sweeps that a policy reads next (U9). Reads serve open attempts (`watch-plan.ts`), collectors that
 * need a listing before they start, and collectors upgraded by attempts that the ledger does not have. The listing itself resyncs
 * the fleet when its rows are too old.
 */
import { restingShare } from '../../fleet/fleet-listing.ts';
import type { DecideInput } from '../decide-input.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import type { Admission } from './admission.ts';
import { monotonicOf } from './attempt.ts';
import { planWatch, type WatchPlan } from './watch-plan.ts';

/** Share of the budget for sweeps while POSTs wait: one fiftieth, otherwise one tenth (U9). */
export const workingShare = 50;

export interface ReadPlan extends WatchPlan {
  /** Minimum interval between sweeps, as a multiple of the duration of a sweep. */
  readonly sweepShare: number;
}

/** @param sweepFromMs wall time from which a sweep is needed before a soak can end */
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
    row: (id) => listing.row(id),
    pageOf: (id) => listing.pageOf(id),
    pageReadMs: (page) => listing.pageReadMs(page),
    reads: observation.reads,
    observes: (version) => listing.observes(version),
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
  const sweepShare = admission.mayStart && isWaiting ? workingShare : restingShare;
  return { ...watch, pages, ...planSweep(input, { sweepAfterMs, nextMs }), sweepShare };
}

/**
 * Pages to read for collectors with an upgrade that this ledger does not have, such as one towards a former target. No other read
 * covers these collectors before the next resync, which is rare for long lists. Each waits for others of its page (U9).
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

/** Sweep for a collector whose page is not known, or the time at which this sweep may be requested (U9). */
function planSweep({ now, observation }: DecideInput, wanted: SweepPlan): SweepPlan {
  if (wanted.sweepAfterMs === undefined) return wanted;
  const completeSinceMs = observation.listing.completeSinceMs() ?? 0;
  const soonestMs = completeSinceMs + restingShare * observation.listing.sweepMs();
  if (soonestMs <= now.monotonicMs) return wanted;
  return { sweepAfterMs: undefined, nextMs: Math.min(wanted.nextMs, soonestMs) };
}
