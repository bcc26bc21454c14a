/**
 * The pages, tasks and sweeps that a policy needs next (U9): for open attempts (`watch-plan.ts`), for collectors that must be seen before
 * they may be started, and for collectors upgraded by an attempt that the ledger does not have. The listing itself reads the fleet again
 * when its rows are too old.
 */
import { restingShare } from '../fleet/fleet-listing.ts';
import type { Admission } from './admission.ts';
import { monotonicOf } from './attempt.ts';
import type { DecideInput } from './decide.ts';
import type { Draft } from './draft.ts';
import { planWatch, type WatchPlan } from './watch-plan.ts';

/** While posts wait for the budget, sweeps may take a fiftieth of it; else a tenth (U9). */
export const workingShare = 50;

export interface ReadPlan extends WatchPlan {
  /** How many times its length a sweep is apart from the next one. */
  readonly sweepShare: number;
}

/** @param sweepFromMs wall time from which a sweep is needed before a soak can end */
export function planReads(
  input: DecideInput,
  draft: Draft,
  admission: Admission,
  sweepFromMs: number | undefined,
): ReadPlan {
  const { observation, now, settings, roster } = input;
  const { listing } = observation;
  const { pending } = draft.counts();
  const watch = planWatch({
    open: draft.open(),
    row: (id) => listing.row(id),
    pageOf: (id) => listing.pageOf(id),
    pageReadMs: (page) => listing.pageReadMs(page),
    reads: observation.reads,
    observes: (version) => listing.observes(version),
    typicalMs: observation.typicalMs,
    pressed: admission.pressed || pending === 0,
    nowMs: now.monotonicMs,
    settings,
  });
  const pages = new Map(watch.pages);
  let sweepAfterMs = watch.sweepAfterMs;
  if (sweepFromMs !== undefined) {
    sweepAfterMs = Math.max(sweepAfterMs ?? 0, monotonicOf(sweepFromMs, now));
  }
  const landed = lookForLanded(input, draft);
  for (const [id, sentAfterMs] of [...admission.look, ...landed.look]) {
    const page = listing.pageOf(id);
    const readMs = page === undefined ? undefined : (listing.pageReadMs(page) ?? 0);
    if (page !== undefined && readMs !== undefined && readMs < sentAfterMs) {
      pages.set(page, Math.max(pages.get(page) ?? 0, sentAfterMs));
    } else if (roster.row(id)) {
      sweepAfterMs = Math.max(sweepAfterMs ?? 0, sentAfterMs);
    }
  }
  const nextMs = Math.min(watch.nextMs, landed.nextMs);
  const sweepShare = admission.mayStart && pending > 0 ? workingShare : restingShare;
  return { ...watch, pages, ...planSweep(input, { sweepAfterMs, nextMs }), sweepShare };
}

/**
 * Who waits to be seen after an upgrade that this ledger does not have, as one towards a target that went: nothing else looks for them
 * before the next resync, which is rare where sweeps are long. Each waits for others of its page (U9).
 */
function lookForLanded({ roster, now, settings }: DecideInput, draft: Draft) {
  const look: (readonly [string, number])[] = [];
  let nextMs = Number.POSITIVE_INFINITY;
  for (const id of roster.members('inProgress')) {
    const entry = draft.entry(id);
    const sentAfterMs = entry?.open ? undefined : roster.unseenSinceMs(id, entry);
    if (sentAfterMs === undefined) continue;
    const dueMs = sentAfterMs + settings.pageWaitMs;
    if (dueMs <= now.monotonicMs) look.push([id, sentAfterMs]);
    else nextMs = Math.min(nextMs, dueMs);
  }
  return { look, nextMs };
}

type SweepPlan = Pick<WatchPlan, 'sweepAfterMs' | 'nextMs'>;

/** The sweep that is wanted because a collector has to be seen whose page is not known; or when it may be asked for (U9). */
function planSweep({ now, observation }: DecideInput, wanted: SweepPlan): SweepPlan {
  if (wanted.sweepAfterMs === undefined) return wanted;
  const completeSinceMs = observation.listing.completeSinceMs() ?? 0;
  const soonestMs = completeSinceMs + restingShare * observation.listing.sweepMs();
  if (soonestMs <= now.monotonicMs) return wanted;
  return { sweepAfterMs: undefined, nextMs: Math.min(wanted.nextMs, soonestMs) };
}
