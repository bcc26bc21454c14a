/**
 * The one pure function of a policy: everything that is known goes in as data, everything that shall happen comes out as data.
 *
 * In this order: settle open attempts by what was learnt (U3 to U7, U10, U11); admit new ones, if anything may start at all
 * (U2, U3, U6, U8); plan what to read next (U9); find the verdict on health and the status.
 *
 * It reads `ledger`, `roster` and `listing` and changes none of them; the shell writes the changes, then applies them.
 */
import { annotations } from '../api/annotations.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { parseDuration } from '../base/duration.ts';
import type { LogfleetError } from '../base/errors.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import { type Admission, admit } from './admission.ts';
import { type Moment, type PostOutcome, settleEntry, type TaskReading } from './attempt.ts';
import {
  countLeftAlone,
  describeConditions,
  describeFigures,
  type Essentials,
  echoOfRequest,
  estimateCompletionMs,
  type Figures,
  isoTime,
  type Overlap,
} from './describe.ts';
import { Draft } from './draft.ts';
import { type Health, healthOf, outstanding } from './health.ts';
import type { Entry, EntryChange, Ledger, LedgerHeader, RolloutHistory } from './ledger.ts';
import { withHistory } from './rollout.ts';
import type { Counts, Roster } from './roster.ts';
import type { PolicySettings } from './settings.ts';
import type { Look } from './upgrade-duration.ts';
import { planWatch, type TaskReads, type WatchPlan } from './watch-plan.ts';

/** What a decision needs of the shared listing; it only reads. */
export type ListingFacts = Pick<
  FleetListing,
  'row' | 'pageOf' | 'pageReadMs' | 'observes' | 'completeSinceMs' | 'sweepCost'
>;

export interface Observation {
  readonly listing: ListingFacts;
  /** Why the target cannot be had, or undefined. */
  readonly notOffered: string | undefined;
  /** What became of POSTs since the last decision that was written. */
  readonly posted: ReadonlyMap<string, PostOutcome>;
  /** Task readings since then. */
  readonly tasks: ReadonlyMap<string, TaskReading>;
  readonly reads: ReadonlyMap<string, TaskReads>;
  /** Collectors whose POST is on its way in this process. */
  readonly flying: ReadonlySet<string>;
  /** How many attempts may be written ahead now. */
  readonly room: number;
  /** What must come before anything may start, in words; undefined when nothing. */
  readonly heldBy: string | undefined;
  /** What keeps the service or the credentials from being used. */
  readonly problem: LogfleetError | undefined;
  readonly ledgerFull: boolean;
  readonly typicalMs: number | undefined;
  readonly overlap: Overlap | undefined;
}

export interface DecideInput {
  readonly policy: CollectorVersionPolicy;
  readonly ledger: Ledger;
  readonly roster: Roster;
  readonly observation: Observation;
  readonly now: Moment;
  readonly settings: PolicySettings;
}

export interface Decision {
  readonly changes: readonly EntryChange[];
  readonly header: LedgerHeader;
  /** Entries to be posted once `changes` are written (U2). */
  readonly post: readonly Entry[];
  /** Listings and tasks to read. */
  readonly watch: WatchPlan;
  /** What the reads taught about how long upgrades take. */
  readonly looks: readonly Look[];
  readonly health: Health;
  /** The status without its figures. */
  readonly essentials: Essentials;
  /** Counts and samples: made only when a status is due, since that costs a walk over the ledger. */
  readonly figures: () => Figures;
  readonly requeueAfterMs: number;
  readonly settled: boolean;
}

/** While posts wait for the budget, sweeps may take a fiftieth of it; else a tenth (U9). */
const sweepShareAtRest = 10;
const sweepShareAtWork = 50;

export function decide(input: DecideInput): Decision {
  const { policy, ledger, roster, observation, now } = input;
  const draft = new Draft(ledger, roster);
  const looks = settleAll(input, draft);
  if (observation.notOffered !== undefined) forgetRefusals(roster, draft);
  const pausedBy = pausedByOf(policy);
  const mayStart = pausedBy === undefined && maySpend(input);
  const admission = mayStart ? admit(admissionInput(input, draft)) : nothingAdmitted(ledger.header.attempts);
  const watch = planReads(input, draft, admission);
  const counts = draft.counts();
  const fleet = { counts, matched: roster.matched, leftAlone: countLeftAlone(roster, draft) };
  const waiting = waitingFor(input, admission, draft);
  const health = healthOf({
    spec: policy.spec,
    pausedBy,
    problem: observation.problem,
    notOffered: observation.notOffered,
    targetVersion: ledger.header.target,
    fleet,
    ledgerFull: observation.ledgerFull,
    waitingFor: waiting,
  });
  const header = nextHeader(ledger.header, admission, health, counts, now);
  const estimatedMs = estimateCompletionMs(header, counts, observation.typicalMs, now.wallMs);
  const isOver = header.completedAtMs !== undefined && outstanding(counts) === 0;
  const rollout = isOver ? undefined : describeRollout(header, estimatedMs, waiting);
  const essentials = describeEssentials(input, header, health, rollout);
  return {
    changes: draft.changes(),
    header,
    post: admission.post,
    watch,
    looks,
    health,
    essentials,
    figures: () => describeFigures(ledger, roster, draft, health),
    requeueAfterMs: Math.min(watch.nextMs, admission.nextMs) - now.monotonicMs,
    settled: isSettled(input, health, draft.openCount, counts),
  };
}

/** Why nothing new may start, for people; undefined when it may. */
export function pausedByOf(policy: CollectorVersionPolicy): string | undefined {
  if (policy.spec.paused) return 'spec.paused';
  return policy.metadata.annotations[annotations.paused] === 'true'
    ? `the annotation ${annotations.paused}`
    : undefined;
}

function maySpend({ policy, observation }: DecideInput): boolean {
  return (
    policy.spec.mode === 'Enforce' &&
    policy.metadata.deletionTimestamp === undefined &&
    observation.notOffered === undefined &&
    observation.problem === undefined &&
    observation.heldBy === undefined &&
    !observation.ledgerFull
  );
}

/** Folds what was learnt into the open attempts; returns what it taught about how long upgrades take. */
function settleAll({ ledger, observation, now, settings }: DecideInput, draft: Draft): readonly Look[] {
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
    // What belonged to an earlier target is forgotten once it has ended: it is no member for that (U12).
    const stale = open.toVersion !== ledger.header.target && !settled?.open;
    if (stale) draft.set(collectorId, undefined);
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

/** The build is gone, so that it was refused says nothing of the collectors: they are as any other once it is back (U11). */
function forgetRefusals(roster: Roster, draft: Draft): void {
  for (const id of roster.members('skipped')) {
    const entry = draft.entry(id);
    if (entry?.ending?.kind !== 'refused' || entry.open) continue;
    draft.set(id, entry.used === 0 && entry.drifts === 0 ? undefined : { ...entry, ending: undefined });
  }
}

function admissionInput({ policy, ledger, roster, observation, now, settings }: DecideInput, draft: Draft) {
  return {
    spec: policy.spec,
    targetVersion: ledger.header.target,
    roster,
    draft,
    attempts: ledger.header.attempts,
    room: observation.room,
    flying: observation.flying,
    now,
    settings,
  };
}

function nothingAdmitted(attempts: number): Admission {
  return { post: [], attempts, look: new Map(), nextMs: Number.POSITIVE_INFINITY, pressed: false };
}

function planReads(input: DecideInput, draft: Draft, admission: Admission): WatchPlan {
  const { observation, now, settings, roster } = input;
  const { listing } = observation;
  const counts = draft.counts();
  const watch = planWatch({
    open: draft.open(),
    row: (id) => listing.row(id),
    pageOf: (id) => listing.pageOf(id),
    pageReadMs: (page) => listing.pageReadMs(page),
    reads: observation.reads,
    observes: (version) => listing.observes(version),
    typicalMs: observation.typicalMs,
    pressed: admission.pressed || counts.pending === 0,
    nowMs: now.monotonicMs,
    settings,
  });
  const pages = new Map(watch.pages);
  let sweepAfterMs = watch.sweepAfterMs;
  for (const [id, sentAfterMs] of admission.look) {
    const page = listing.pageOf(id);
    const readMs = page === undefined ? undefined : (listing.pageReadMs(page) ?? 0);
    if (page !== undefined && readMs !== undefined && readMs < sentAfterMs) {
      pages.set(page, Math.max(pages.get(page) ?? 0, sentAfterMs));
    } else if (roster.row(id)) {
      sweepAfterMs = Math.max(sweepAfterMs ?? 0, sentAfterMs);
    }
  }
  return { ...watch, pages, ...planSweep(input, draft, { sweepAfterMs, nextMs: watch.nextMs }) };
}

type SweepPlan = Pick<WatchPlan, 'sweepAfterMs' | 'nextMs'>;

/** The sweep that is due, for resync or because somebody has to be seen whose page is not known; or when it will be (U9). */
function planSweep(input: DecideInput, draft: Draft, wanted: SweepPlan): SweepPlan {
  const { now, observation } = input;
  const resyncMs = nextSweepMs(input, draft);
  // One that is due has been asked for, and tells when it is done.
  if (resyncMs <= now.monotonicMs) return { sweepAfterMs: resyncMs, nextMs: wanted.nextMs };
  const nextMs = Math.min(wanted.nextMs, resyncMs);
  if (wanted.sweepAfterMs === undefined) return { sweepAfterMs: undefined, nextMs };
  const completeSinceMs = observation.listing.completeSinceMs() ?? 0;
  const soonestMs = completeSinceMs + sweepShareAtRest * observation.listing.sweepCost().durationMs;
  if (soonestMs <= now.monotonicMs) return { sweepAfterMs: wanted.sweepAfterMs, nextMs };
  return { sweepAfterMs: undefined, nextMs: Math.min(nextMs, soonestMs) };
}

function nextSweepMs({ policy, observation }: DecideInput, draft: Draft): number {
  const completeSinceMs = observation.listing.completeSinceMs();
  if (completeSinceMs === undefined) return 0;
  const share = draft.counts().pending > 0 ? sweepShareAtWork : sweepShareAtRest;
  const intervalMs = parseDuration(policy.spec.resyncInterval) ?? 0;
  return completeSinceMs + Math.max(intervalMs, share * observation.listing.sweepCost().durationMs);
}

function waitingFor({ observation, now }: DecideInput, admission: Admission, draft: Draft): string | undefined {
  if (observation.heldBy !== undefined) return observation.heldBy;
  const { pending, retrying, drifting, inProgress } = draft.counts();
  if (pending > 0 || admission.post.length > 0) {
    return admission.pressed ? `a place: strategy.maxInProgress allows no more than ${inProgress} at once` : undefined;
  }
  const until = Number.isFinite(admission.nextMs)
    ? ` until ${isoTime(now.wallMs + admission.nextMs - now.monotonicMs)}`
    : '';
  if (retrying > 0) return `the back-off of ${retrying} failed ones${until}`;
  if (drifting > 0) return `a second look at ${drifting} that left the target${until}`;
  return undefined;
}

function nextHeader(
  header: LedgerHeader,
  admission: Admission,
  health: Health,
  counts: Counts,
  now: Moment,
): LedgerHeader {
  const completes = health.ready === 'True' && header.completedAtMs === undefined;
  if (!completes) return admission.attempts === header.attempts ? header : { ...header, attempts: admission.attempts };
  const ended: RolloutHistory = {
    id: header.rolloutId,
    targetVersion: header.target,
    startedAtMs: header.startedAtMs,
    endedAtMs: now.wallMs,
    outcome: 'Completed',
    updated: counts.updated,
    failed: counts.failed,
  };
  return {
    ...header,
    attempts: admission.attempts,
    completedAtMs: now.wallMs,
    history: withHistory(header.history, ended),
  };
}

function describeEssentials(
  { policy, observation, now }: DecideInput,
  header: LedgerHeader,
  health: Health,
  rollout: Essentials['rollout'],
): Essentials {
  const { generation } = policy.metadata;
  return {
    observedGeneration: generation,
    ...echoOfRequest(policy),
    targetVersion: header.target,
    ...(rollout === undefined ? {} : { rollout }),
    history: header.history.map((one) => ({
      id: one.id,
      targetVersion: one.targetVersion,
      startTime: isoTime(one.startedAtMs),
      completionTime: isoTime(one.endedAtMs),
      outcome: one.outcome,
      updated: one.updated,
      failed: one.failed,
    })),
    conditions: describeConditions(
      policy.status?.conditions,
      health,
      observation.overlap,
      generation,
      isoTime(now.wallMs),
    ),
  };
}

function describeRollout(
  { rolloutId, startedAtMs }: LedgerHeader,
  estimatedMs: number | undefined,
  waitingFor: string | undefined,
): NonNullable<Essentials['rollout']> {
  return {
    id: rolloutId,
    startTime: isoTime(startedAtMs),
    ...(estimatedMs === undefined ? {} : { estimatedCompletionTime: isoTime(estimatedMs) }),
    ...(waitingFor === undefined ? {} : { waitingFor }),
  };
}

/** Whether nothing will move any more unless somebody does something: a directory run may end. */
function isSettled({ policy, observation }: DecideInput, health: Health, open: number, counts: Counts): boolean {
  // Without the service nothing can be learnt of what is in flight, either.
  if (observation.problem && health.stalled) return true;
  if (open > 0 || health.reconciling) return false;
  return health.ready === 'Unknown' || health.stalled || policy.spec.mode === 'Observe' || outstanding(counts) === 0;
}
