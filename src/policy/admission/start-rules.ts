/**
 * Rules that decide whether an upgrade may start. `refusalOfAll` checks the rules for the whole policy, and `refusalOf`
 * checks the rules for one collector. If several rules forbid an upgrade, the status shows the reason given by the
 * first of them.
 */
import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import type { Instant } from '../../base/clock.ts';
import { parseDuration } from '../../base/duration.ts';
import { pausedByOf } from '../../controller/pauses.ts';
import { monotonicOf } from '../attempts/attempt.ts';
import type { Ending, RolloutStop } from '../ledger/ledger.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import { shareOf } from '../members/stages.ts';
import { totalOf } from '../members/state-counts.ts';
import type { DecideInput } from '../rollout/decide-input.ts';
import { isStageStarted, mayJoin, type RolloutState } from '../rollout/rollout-state.ts';
import type { WaitCause } from '../rollout/wait-cause.ts';
import { verdictIn, type WindowVerdict } from '../schedule/maintenance-calendar.ts';

export interface Refusal {
  /** Cause of the wait. Undefined for a short wait that the status does not show. */
  readonly cause: WaitCause | undefined;
  /**
   * Reason of the `Ready` condition while the rollout is waiting and no upgrade is running. Absent if the default
   * reason for a wait applies.
   */
  readonly reason?: string | undefined;
  /**
   * Earliest monotonic time in ms at which the wait may end. Absent if only an event, such as an approval, can end the
   * wait.
   */
  readonly untilMs?: number | undefined;
  /**
   * Earliest monotonic time in ms at which a new listing may be requested. Set only if the wait ends as soon as this
   * listing shows the collector.
   */
  readonly unseenSinceMs?: number;
  /** True if the reason applies to all remaining collectors. Absent if it applies only to one collector. */
  readonly forAll?: boolean;
}

/** Input of the rules that decide whether a policy may start upgrades. */
export interface KnownOfAll extends Pick<DecideInput, 'policy' | 'observation' | 'windows' | 'now'> {
  readonly stop: RolloutStop | undefined;
}

/** Collector that may need an upgrade. `because` gives the reason for the upgrade. */
export type Candidate = { readonly id: string } & (
  | { readonly because: 'pending' }
  | { readonly because: 'rollback' }
  | { readonly because: 'failed'; readonly ending: Ending; readonly used: number }
  /** Monotonic time in ms of the first listing that shows the collector at a version other than the target. */
  | { readonly because: 'drifted'; readonly sinceMs: number }
);

export interface AdmissionInput extends DecideInput {
  readonly pending: PendingChanges;
  readonly state: RolloutState;
}

/** Input of the rules that decide whether a collector may be upgraded now. */
export interface AdmissionState extends AdmissionInput {
  /** Number of upgrades that the current decision has started so far. */
  readonly batched: number;
}

type RuleForOne = (candidate: Candidate, known: AdmissionState) => Refusal | undefined;

const rulesForOne: readonly RuleForOne[] = [
  postUnanswered,
  ownWindowClosed,
  stageNotReached,
  backingOff,
  versionUnconfirmed,
  stageLimitReached,
  policyLimitReached,
  tooManyOpen,
  batchFull,
];

/** Returns the reason why the policy must not start upgrades, or undefined if it may start them. */
export function refusalOfAll(known: KnownOfAll): Refusal | undefined {
  const { windows, now } = known;
  const cause = causeForAll(known);
  if (cause) return { cause };
  return windows.everywhere && refusalOfWindow(windows.everywhere, now);
}

function causeForAll({ policy, observation, stop }: KnownOfAll): WaitCause | undefined {
  const { upgradesBlocked, pausedForAll, notOffered, heldBy, ledgerFull } = observation;
  const pausedBy = pausedByOf(policy);
  // An unusable manifest stops all upgrades, because it may contain a policy that pins collectors (D1).
  if (upgradesBlocked !== undefined) return { kind: 'unusableManifest' };
  if (pausedForAll !== undefined) return { kind: 'pausedForAll', by: pausedForAll };
  if (pausedBy !== undefined) return { kind: 'paused', by: pausedBy };
  if (policy.metadata.deletionTimestamp !== undefined) return { kind: 'deletion' };
  if (policy.spec.mode !== 'Enforce') return { kind: 'observeMode' };
  if (stop && stop.kind !== 'rollback') return { kind: 'stopped' };
  // A rollback does not need the target build.
  if (notOffered !== undefined && !stop) return { kind: 'notOffered' };
  return heldBy ?? (ledgerFull ? { kind: 'ledgerFull' } : undefined);
}

/** Returns the reason why this collector must not be upgraded now, or undefined if it may be upgraded. */
export function refusalOf(candidate: Candidate, known: AdmissionState): Refusal | undefined {
  for (const rule of rulesForOne) {
    const refusal = rule(candidate, known);
    if (refusal) return refusal;
  }
  return undefined;
}

/** Makes a collector wait while its maintenance window is closed (R8). */
export function ownWindowClosed({ id }: Candidate, { windows, memberIndex, now }: AdmissionState): Refusal | undefined {
  return refusalOfWindow(verdictIn(windows, memberIndex.row(id)?.collector.timeZone), now);
}

function refusalOfWindow(verdict: WindowVerdict, now: Instant): Refusal | undefined {
  const reason = reasons.waitingForWindow;
  switch (verdict.kind) {
    case 'open':
      return undefined;
    case 'closed':
      return { cause: verdict.because, reason, untilMs: monotonicOf(verdict.opensAtMs, now) };
    case 'zoneUnreadable':
      return { cause: { kind: 'timeZone' }, reason };
  }
}

/**
 * Makes a collector wait until its stage has started (R2). A collector that missed its stage waits until the last stage
 * has started.
 */
export function stageNotReached(
  { id, because }: Candidate,
  { state, memberIndex, now }: AdmissionState,
): Refusal | undefined {
  const stage = memberIndex.stageOf(id);
  const isFirst = because === 'pending' || !isStageStarted(stage, state);
  if (state.rollback || !isFirst || mayJoin(stage, state)) return undefined;
  const { gate } = state;
  // If nothing blocks the stage, this decision starts the stage, and the next decision upgrades its collectors. The
  // status does not show such a short wait.
  if (!gate) return { cause: undefined };
  return { cause: gate.cause, reason: gate.reason, untilMs: monotonicOf(gate.untilMs, now) };
}

function postUnanswered({ id }: Candidate, { observation }: AdmissionState): Refusal | undefined {
  return observation.inFlight.has(id) ? { cause: undefined } : undefined;
}

function backingOff(candidate: Candidate, { now, policy }: AdmissionState): Refusal | undefined {
  // After a user's retry (`used` is 0), a collector is upgraded without delay.
  if (candidate.because !== 'failed' || candidate.used === 0) return undefined;
  const untilMs = candidate.ending.sinceMs + backOffMs(policy.spec, candidate.used);
  return now.monotonicMs < untilMs ? { cause: { kind: 'backOff' }, untilMs } : undefined;
}

/** Makes an upgrade wait until a new listing shows the collector's version. */
function versionUnconfirmed(candidate: Candidate, known: AdmissionState): Refusal | undefined {
  const { memberIndex, pending, settings, now } = known;
  const row = memberIndex.row(candidate.id);
  const needsListing = (sentAfterMs: number, cause: WaitCause): Refusal | undefined => {
    if ((row?.seenAtMs ?? 0) >= sentAfterMs) return undefined;
    return now.monotonicMs < sentAfterMs ? { cause, untilMs: sentAfterMs } : { cause, unseenSinceMs: sentAfterMs };
  };
  switch (candidate.because) {
    case 'pending':
      return undefined;
    case 'failed': {
      // A listing requested within the grace period after a failed upgrade may be outdated (U6).
      const sentAfterMs = candidate.ending.sinceMs + settings.graceMs;
      return needsListing(sentAfterMs, { kind: 'versionAfterFailure' });
    }
    case 'drifted': {
      // The first listing that shows another version may be outdated, so a second listing must confirm that the
      // collector left the target version (U8).
      const sentAfterMs = candidate.sinceMs + settings.driftConfirmMs;
      return needsListing(sentAfterMs, { kind: 'secondListing' });
    }
    case 'rollback': {
      // The last listing shows the collector at its former version, but this listing may be outdated. A newer listing
      // must confirm the version.
      const { before, ending } = pending.entry(candidate.id) ?? {};
      if (row?.collector.collectorVersion !== before) return undefined;
      const sentAfterMs = (ending?.sinceMs ?? 0) + settings.graceMs;
      return needsListing(sentAfterMs, { kind: 'newerListing' });
    }
  }
}

/** Makes an upgrade wait while its stage already has the maximum number of running upgrades (`maxInProgress`). */
function stageLimitReached({ id }: Candidate, { memberIndex, pending, state }: AdmissionState): Refusal | undefined {
  const stage = memberIndex.stageOf(id);
  const record = state.header.stages?.[stage];
  if (state.rollback || record?.maxInProgress === undefined || record.endedAtMs !== undefined) return undefined;
  const counts = pending.stageCounts(stage);
  const max = shareOf(record.maxInProgress, record.members ?? totalOf(counts));
  if (counts.inProgress < max) return undefined;
  return { cause: { kind: 'stageLimit', stage: record.name, max }, forAll: true };
}

function policyLimitReached(_: Candidate, { pending, policy, memberIndex }: AdmissionState): Refusal | undefined {
  const max = shareOf(policy.spec.strategy.maxInProgress, memberIndex.matched);
  if (pending.openCount < max) return undefined;
  return { cause: { kind: 'policyLimit', max }, forAll: true };
}

/** Makes an upgrade wait while the policy already has the maximum number of open upgrades (U1). */
function tooManyOpen(_: Candidate, { pending, settings }: AdmissionState): Refusal | undefined {
  if (pending.openCount < settings.maxOpen) return undefined;
  return { cause: { kind: 'openLimit', max: settings.maxOpen }, forAll: true };
}

/**
 * Makes an upgrade wait if the current decision has already started as many upgrades as one decision may start (U2).
 */
function batchFull(_: Candidate, { batched, observation }: AdmissionState): Refusal | undefined {
  return batched < observation.batchCapacity ? undefined : { cause: undefined, forAll: true };
}

/** Returns the delay in ms before the next attempt. The delay grows with each failed attempt, up to a maximum. */
export function backOffMs(spec: CollectorVersionPolicySpec, used: number): number {
  const { duration, factor, cap } = spec.retryPolicy.backoff;
  const firstMs = parseDuration(duration) ?? 0;
  const capMs = parseDuration(cap) ?? Infinity;
  return Math.min(capMs, firstMs * factor ** Math.max(0, used - 1));
}
