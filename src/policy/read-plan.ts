/**
 * What is to be read next of a whole policy (U9): for the attempts that are open (`watch-plan.ts`), for those who have to be seen before
 * they may be started or after an upgrade that the ledger does not have, and the sweep that is due.
 */
import { parseDuration } from '../base/duration.ts';
import type { Admission } from './admission.ts';
import { monotonicOf } from './attempt.ts';
import type { DecideInput } from './decide.ts';
import type { Draft } from './draft.ts';
import { planWatch, type WatchPlan } from './watch-plan.ts';

/** While posts wait for the budget, sweeps may take a fiftieth of it; else a tenth (U9). */
export const sweepShareAtRest = 10;
export const sweepShareAtWork = 50;

/** @param sweepFromMs wall time from which a sweep is needed before a soak can end */
export function planReads(
  input: DecideInput,
  draft: Draft,
  admission: Admission,
  sweepFromMs: number | undefined,
): WatchPlan {
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
  const resyncMs = nextResyncMs(input, admission.mayStart && pending > 0 ? sweepShareAtWork : sweepShareAtRest);
  const nextMs = Math.min(watch.nextMs, landed.nextMs);
  return { ...watch, pages, ...planSweep(input, resyncMs, { sweepAfterMs, nextMs }) };
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

/** The sweep that is due, for resync or because somebody has to be seen whose page is not known; or when it will be (U9). */
function planSweep({ now, observation }: DecideInput, resyncMs: number, wanted: SweepPlan): SweepPlan {
  // One that is due has been asked for, and tells when it is done.
  if (resyncMs <= now.monotonicMs) return { sweepAfterMs: resyncMs, nextMs: wanted.nextMs };
  const nextMs = Math.min(wanted.nextMs, resyncMs);
  if (wanted.sweepAfterMs === undefined) return { sweepAfterMs: undefined, nextMs };
  const completeSinceMs = observation.listing.completeSinceMs() ?? 0;
  const soonestMs = completeSinceMs + sweepShareAtRest * observation.listing.sweepMs();
  if (soonestMs <= now.monotonicMs) return { sweepAfterMs: wanted.sweepAfterMs, nextMs };
  return { sweepAfterMs: undefined, nextMs: Math.min(nextMs, soonestMs) };
}

function nextResyncMs({ policy, observation }: DecideInput, share: number): number {
  const completeSinceMs = observation.listing.completeSinceMs();
  if (completeSinceMs === undefined) return 0;
  const intervalMs = parseDuration(policy.spec.resyncInterval) ?? 0;
  return completeSinceMs + Math.max(intervalMs, share * observation.listing.sweepMs());
}
