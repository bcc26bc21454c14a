/**
 * Start rules: each is a named function that returns a refusal with a reason for display, or undefined.
 *
 * The order of the two lists is the order in which reasons are reported. Rules for all are evaluated once per decision; when one
 * refuses, no collector of the policy starts. Rules for one are evaluated for each candidate, in the order of the strategy. The
 * state of a collector (`member-state.ts`) decides whether it is a candidate.
 */

import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { parseDuration } from '../../base/duration.ts';
import { pausedByOf } from '../../controller/pauses.ts';
import type { Observation } from '../decide-input.ts';
import type { Ending, RolloutStop } from '../ledger/ledger.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import type { PolicyMemberIndex } from '../members/policy-member-index.ts';
import { isStageStarted, mayJoin, type RolloutState } from '../rollout/rollout-state.ts';
import { shareOf } from '../rollout/stages.ts';
import type { MaintenanceCalendar } from '../schedule/maintenance-calendar.ts';
import type { PolicySettings } from '../settings.ts';
import { type Instant, monotonicOf } from './attempt.ts';

export interface Refusal {
  /** Completes the sentence "waiting for …"; undefined for a wait that ends within moments. */
  readonly waitsFor: string | undefined;
  /** Reason of the condition while nothing else happens; absent for the default reason. */
  readonly reason?: string;
  /** Monotonic ms before which nothing changes; undefined when an event ends the wait. */
  readonly untilMs?: number;
  /** The collector needs a listing that was sent at or after this monotonic time. */
  readonly unseenSinceMs?: number;
  /** Set when no later candidate can start either. */
  readonly forAll?: true;
}

type RuleForAll = (policy: CollectorVersionPolicy, known: KnownOfAll) => Refusal | undefined;

/** Inputs of the rules for all. */
export interface KnownOfAll {
  readonly observation: Observation;
  /** Absent while the rollout continues. */
  readonly stop: RolloutStop | undefined;
  readonly calendar: MaintenanceCalendar;
  readonly now: Instant;
}

const rulesForAll: readonly RuleForAll[] = [
  heldByManifest,
  allPaused,
  paused,
  beingDeleted,
  observing,
  stopped,
  targetNotOffered,
  serviceUnusable,
  held,
  ledgerFull,
  windowClosed,
];

/** A collector that may be started, and the reason for its attempt. */
export type Candidate = { readonly id: string } & (
  | { readonly because: 'pending' }
  /** Rollback to the former version. */
  | { readonly because: 'rollback' }
  | { readonly because: 'failed'; readonly ending: Ending; readonly used: number }
  /** Monotonic ms at which the collector was first seen off the target. */
  | { readonly because: 'drifted'; readonly sinceMs: number }
);

export interface AdmissionInput {
  readonly spec: CollectorVersionPolicySpec;
  readonly targetVersion: string;
  readonly memberIndex: PolicyMemberIndex;
  readonly pending: PendingChanges;
  /** Highest number of an attempt so far. */
  readonly attempts: number;
  /** Maximum number of attempts in this batch. */
  readonly room: number;
  /** Collectors with an unanswered POST of this process. */
  readonly inFlight: ReadonlySet<string>;
  readonly now: Instant;
  readonly settings: PolicySettings;
  readonly state: RolloutState;
  readonly calendar: MaintenanceCalendar;
}

export interface StagePlaces {
  readonly name: string;
  readonly open: number;
  readonly most: number;
}

/** Attempts admitted so far, and the inputs of the rules for one. */
export interface AdmissionState extends AdmissionInput {
  /** Attempts in flight of a stage and their maximum; undefined when the stage sets none. */
  readonly stagePlaces: (stage: number) => StagePlaces | undefined;
  /** Number of attempts written ahead in this batch. */
  readonly batched: number;
}

type RuleForOne = (candidate: Candidate, known: AdmissionState) => Refusal | undefined;

const rulesForOne: readonly RuleForOne[] = [
  postUnanswered,
  ownWindowClosed,
  stageNotReached,
  backingOff,
  failedUnseen,
  driftUnconfirmed,
  perhapsBack,
  noPlaceInStage,
  noPlace,
  tooManyOpen,
  batchFull,
];

/** Reason why the policy may start nothing; undefined when it may start attempts. */
export function refusalOfAll(policy: CollectorVersionPolicy, known: KnownOfAll): Refusal | undefined {
  for (const rule of rulesForAll) {
    const refusal = rule(policy, known);
    if (refusal) return refusal;
  }
  return undefined;
}

/** Reason why this collector may not start now; undefined when it may. */
export function refusalOf(candidate: Candidate, known: AdmissionState): Refusal | undefined {
  for (const rule of rulesForOne) {
    const refusal = rule(candidate, known);
    if (refusal) return refusal;
  }
  return undefined;
}

/** Refuses while a directory has an unusable manifest without a former version (D1). */
function heldByManifest(_: CollectorVersionPolicy, { observation: { policiesHold } }: KnownOfAll): Refusal | undefined {
  return policiesHold === undefined ? undefined : { waitsFor: 'a person to correct or delete an unusable manifest' };
}

/** Refuses while the operator's kill switch is set (R10). */
function allPaused(_: CollectorVersionPolicy, { observation: { pausedForAll: by } }: KnownOfAll): Refusal | undefined {
  return by === undefined ? undefined : { waitsFor: `the end of the pause of all policies by ${by}` };
}

function paused(policy: CollectorVersionPolicy): Refusal | undefined {
  const by = pausedByOf(policy);
  return by === undefined ? undefined : { waitsFor: `the end of the pause by ${by}` };
}

function beingDeleted({ metadata }: CollectorVersionPolicy): Refusal | undefined {
  return metadata.deletionTimestamp === undefined
    ? undefined
    : { waitsFor: 'the end of the policy, which is being deleted' };
}

function observing({ spec }: CollectorVersionPolicy): Refusal | undefined {
  return spec.mode === 'Enforce' ? undefined : { waitsFor: 'spec.mode to be Enforce' };
}

/** Refuses after a stop. A rollback continues although no upgrade begins. */
function stopped(_: CollectorVersionPolicy, { stop }: KnownOfAll): Refusal | undefined {
  return stop === undefined || stop.kind === 'rollback'
    ? undefined
    : { waitsFor: 'a retry or another target, because the rollout is stopped' };
}

function targetNotOffered(
  _: CollectorVersionPolicy,
  { observation: { notOffered }, stop }: KnownOfAll,
): Refusal | undefined {
  // A rollback does not need the target.
  return notOffered === undefined || stop ? undefined : { waitsFor: 'the service to offer the target build' };
}

function serviceUnusable(_: CollectorVersionPolicy, { observation: { problem } }: KnownOfAll): Refusal | undefined {
  return problem && { waitsFor: 'the service, which cannot be used' };
}

function held(_: CollectorVersionPolicy, { observation: { heldBy } }: KnownOfAll): Refusal | undefined {
  return heldBy === undefined ? undefined : { waitsFor: heldBy };
}

/** Refuses when the attempt could not be recorded (U1). */
function ledgerFull(_: CollectorVersionPolicy, { observation }: KnownOfAll): Refusal | undefined {
  return observation.ledgerFull ? { waitsFor: 'free space in the ledger' } : undefined;
}

function windowClosed(_: CollectorVersionPolicy, { calendar, now }: KnownOfAll): Refusal | undefined {
  return calendar.byCollector ? undefined : closedAt(calendar, now, undefined);
}

/** Refuses while the window of the collector's own time zone is closed (R8). */
export function ownWindowClosed(
  { id }: Candidate,
  { calendar, memberIndex, now }: AdmissionState,
): Refusal | undefined {
  return calendar.byCollector ? closedAt(calendar, now, memberIndex.row(id)?.collector.timeZone) : undefined;
}

function closedAt(calendar: MaintenanceCalendar, now: Instant, zone: string | undefined) {
  const verdict = calendar.verdict(now.wallMs, zone);
  const reason = reasons.waitingForWindow;
  switch (verdict.kind) {
    case 'open':
      return undefined;
    case 'closed': {
      const { because: waitsFor, opensAtMs } = verdict;
      return { waitsFor, reason, ...(opensAtMs !== undefined && { untilMs: monotonicOf(opensAtMs, now) }) };
    }
    case 'zoneUnreadable':
      return { waitsFor: 'a readable time zone of the collector', reason };
  }
}

/**
 * Stages run one after the other (R2). A collector that its stage has not upgraded when the soak starts is a late joiner: it waits for
 * the last stage. Retries, corrections of drift and rollbacks do not wait.
 */
export function stageNotReached(
  { id, because }: Candidate,
  { state, memberIndex, now }: AdmissionState,
): Refusal | undefined {
  const stage = memberIndex.stageOf(id);
  const isFirst = because === 'pending' || !isStageStarted(stage, state);
  if (state.rollback || !isFirst || mayJoin(stage, state)) return undefined;
  const { gate } = state;
  // A stage that starts with this decision upgrades its members from the next decision on.
  if (!gate) return { waitsFor: undefined };
  const untilMs = monotonicOf(gate.untilMs, now);
  return {
    waitsFor: gate.waitsFor,
    ...(gate.reason !== undefined && { reason: gate.reason }),
    ...(untilMs !== undefined && { untilMs }),
  };
}

function postUnanswered({ id }: Candidate, { inFlight }: AdmissionState): Refusal | undefined {
  return inFlight.has(id) ? { waitsFor: undefined } : undefined;
}

function backingOff(candidate: Candidate, { now, spec }: AdmissionState): Refusal | undefined {
  if (candidate.because !== 'failed') return undefined;
  // After a person's retry there is no back-off.
  if (candidate.used === 0) return undefined;
  const untilMs = candidate.ending.sinceMs + backOffMs(spec, candidate.used);
  return now.monotonicMs < untilMs ? { waitsFor: 'the back-off after a failed upgrade', untilMs } : undefined;
}

/** Requires a listing sent G after the failure that still shows the old version (U6). */
function failedUnseen(candidate: Candidate, known: AdmissionState): Refusal | undefined {
  if (candidate.because !== 'failed') return undefined;
  const sentAfterMs = candidate.ending.sinceMs + known.settings.graceMs;
  return unseen(candidate, sentAfterMs, 'a listing that confirms the version after the failed upgrade', known);
}

/** Requires a second listing that confirms the drift (U8). */
function driftUnconfirmed(candidate: Candidate, known: AdmissionState): Refusal | undefined {
  if (candidate.because !== 'drifted') return undefined;
  const sentAfterMs = candidate.sinceMs + known.settings.driftConfirmMs;
  return unseen(candidate, sentAfterMs, 'a second listing that confirms the drift', known);
}

/**
 * A list that shows the former version may be older than the upgrade. It may also be newer than a rollback that a restored ledger
 * does not know.
 */
function perhapsBack(candidate: Candidate, known: AdmissionState): Refusal | undefined {
  if (candidate.because !== 'rollback') return undefined;
  const { before, ending } = known.pending.entry(candidate.id) ?? {};
  if (known.memberIndex.row(candidate.id)?.collector.collectorVersion !== before) return undefined;
  const sentAfterMs = (ending?.sinceMs ?? 0) + known.settings.graceMs;
  return unseen(candidate, sentAfterMs, 'a listing that shows whether the rollback is still needed', known);
}

function unseen(
  { id }: Candidate,
  sentAfterMs: number,
  waitsFor: string,
  { memberIndex, now }: AdmissionState,
): Refusal | undefined {
  if ((memberIndex.row(id)?.seenAtMs ?? 0) >= sentAfterMs) return undefined;
  return now.monotonicMs >= sentAfterMs ? { waitsFor, unseenSinceMs: sentAfterMs } : { waitsFor, untilMs: sentAfterMs };
}

function noPlaceInStage({ id }: Candidate, { stagePlaces, memberIndex, state }: AdmissionState): Refusal | undefined {
  if (state.rollback) return undefined;
  const stage = memberIndex.stageOf(id);
  const places = stagePlaces(stage);
  if (places === undefined || places.open < places.most) return undefined;
  const waitsFor = `an upgrade to end: stage ${places.name} allows at most ${places.most} at once`;
  // The following candidates belong to the same stage.
  return stage === state.current ? { waitsFor, forAll: true } : { waitsFor };
}

function noPlace(_: Candidate, { pending, spec, memberIndex }: AdmissionState): Refusal | undefined {
  const most = maxInProgressOf(spec, memberIndex.matched);
  if (pending.openCount < most) return undefined;
  return { waitsFor: `an upgrade to end: strategy.maxInProgress allows at most ${most} at once`, forAll: true };
}

/** Limits the number of open attempts, because a ledger has a limited size (U1). */
function tooManyOpen(_: Candidate, { pending, settings }: AdmissionState): Refusal | undefined {
  if (pending.openCount < settings.maxOpen) return undefined;
  return { waitsFor: `an upgrade to end: a policy has at most ${settings.maxOpen} in flight`, forAll: true };
}

/** Limits the batch, so that no written-ahead attempt expires before its POST (U2). */
function batchFull(_: Candidate, { batched, room }: AdmissionState): Refusal | undefined {
  return batched < room ? undefined : { waitsFor: undefined, forAll: true };
}

/** `maxInProgress` as a number. A percentage refers to the matched collectors, rounded up and at least 1. */
export function maxInProgressOf(spec: CollectorVersionPolicySpec, matched: number): number {
  return shareOf(spec.strategy.maxInProgress, matched);
}

/** Delay before the attempt that follows `used` attempts. Grows by the factor with each attempt, up to the cap. */
export function backOffMs(spec: CollectorVersionPolicySpec, used: number): number {
  const { duration, factor, cap } = spec.retryPolicy.backoff;
  const firstMs = parseDuration(duration) ?? 0;
  const capMs = parseDuration(cap) ?? Number.POSITIVE_INFINITY;
  return Math.min(capMs, firstMs * factor ** Math.max(0, used - 1));
}
