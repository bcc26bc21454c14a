/**
 * What may be started: rules, each a named function that refuses with a reason that a person understands, or has nothing to say.
 *
 * The two lists are the whole of it, and their order is the order in which reasons are told. Rules for all are asked once a
 * decision, and none of a policy's collectors starts while one of them refuses; rules for one are asked about each collector that
 * could be started, in the strategy's order. Whether it is in the line at all is its standing (`standing.ts`).
 */
import { annotations } from '../api/annotations.ts';
import type { CollectorVersionPolicySpec } from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { parseDuration } from '../base/duration.ts';
import type { AdmissionInput } from './admission.ts';
import type { Observation } from './decide.ts';
import type { Ending } from './ledger.ts';

export interface Refusal {
  /** Completes the sentence "waiting for …"; undefined where it is over in a moment. */
  readonly waitsFor: string | undefined;
  /** Monotonic: nothing changes before then; undefined where something that we hear of ends it. */
  readonly untilMs?: number;
  /** The collector has to be seen in a listing sent at or after this. */
  readonly unseenSinceMs?: number;
  /** Nobody who comes later in the line can start, either. */
  readonly forAll?: true;
}

type RuleForAll = (policy: CollectorVersionPolicy, observation: Observation) => Refusal | undefined;

const rulesForAll: readonly RuleForAll[] = [
  paused,
  beingDeleted,
  observing,
  targetNotOffered,
  serviceUnusable,
  held,
  ledgerFull,
];

/** A collector that could be started, and why. */
export type Candidate = { readonly id: string } & (
  | { readonly because: 'pending' }
  | { readonly because: 'failed'; readonly ending: Ending; readonly used: number }
  /** Monotonic: when it was first seen off the target. */
  | { readonly because: 'drifted'; readonly sinceMs: number }
);

/** What has been admitted so far, and what the rules go by. */
export interface Line extends AdmissionInput {
  /** How many have been written ahead in this batch. */
  readonly batched: number;
}

type RuleForOne = (candidate: Candidate, line: Line) => Refusal | undefined;

const rulesForOne: readonly RuleForOne[] = [
  postUnanswered,
  backingOff,
  failedUnseen,
  driftUnconfirmed,
  noPlace,
  tooManyOpen,
  batchFull,
];

/** Why nothing of this policy may start; undefined where something may. */
export function refusalOfAll(policy: CollectorVersionPolicy, observation: Observation): Refusal | undefined {
  for (const rule of rulesForAll) {
    const refusal = rule(policy, observation);
    if (refusal) return refusal;
  }
  return undefined;
}

/** Why this collector may not start now; undefined where it may. */
export function refusalOf(candidate: Candidate, line: Line): Refusal | undefined {
  for (const rule of rulesForOne) {
    const refusal = rule(candidate, line);
    if (refusal) return refusal;
  }
  return undefined;
}

/** By what a policy is paused, for people; undefined where it is not. */
export function pausedByOf({ spec, metadata }: CollectorVersionPolicy): string | undefined {
  if (spec.paused) return 'spec.paused';
  return metadata.annotations[annotations.paused] === 'true' ? `the annotation ${annotations.paused}` : undefined;
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

function targetNotOffered(_: CollectorVersionPolicy, { notOffered }: Observation): Refusal | undefined {
  return notOffered === undefined ? undefined : { waitsFor: 'the service to offer the build that is wanted' };
}

function serviceUnusable(_: CollectorVersionPolicy, { problem }: Observation): Refusal | undefined {
  return problem && { waitsFor: 'the service, which cannot be used' };
}

function held(_: CollectorVersionPolicy, { heldBy }: Observation): Refusal | undefined {
  return heldBy === undefined ? undefined : { waitsFor: heldBy };
}

/** U1: what cannot be remembered must not be started. */
function ledgerFull(_: CollectorVersionPolicy, observation: Observation): Refusal | undefined {
  return observation.ledgerFull ? { waitsFor: 'room in the ledger' } : undefined;
}

function postUnanswered({ id }: Candidate, { flying }: Line): Refusal | undefined {
  return flying.has(id) ? { waitsFor: undefined } : undefined;
}

function backingOff(candidate: Candidate, { now, spec }: Line): Refusal | undefined {
  if (candidate.because !== 'failed') return undefined;
  const untilMs = candidate.ending.sinceMs + backOffMs(spec, candidate.used);
  return now.monotonicMs < untilMs ? { waitsFor: 'the back-off after a failed upgrade', untilMs } : undefined;
}

/** U6: a listing sent G after the end has to show the old version still. */
function failedUnseen(candidate: Candidate, line: Line): Refusal | undefined {
  if (candidate.because !== 'failed') return undefined;
  const sentAfterMs = candidate.ending.sinceMs + line.settings.graceMs;
  return unseen(candidate, sentAfterMs, 'a look at what a failed upgrade left behind', line);
}

/** U8: drift is acted on after two listings this far apart. */
function driftUnconfirmed(candidate: Candidate, line: Line): Refusal | undefined {
  if (candidate.because !== 'drifted') return undefined;
  const sentAfterMs = candidate.sinceMs + line.settings.driftConfirmMs;
  return unseen(candidate, sentAfterMs, 'a second look at who left the target', line);
}

function unseen({ id }: Candidate, sentAfterMs: number, waitsFor: string, { roster, now }: Line): Refusal | undefined {
  if ((roster.row(id)?.seenAtMs ?? 0) >= sentAfterMs) return undefined;
  return now.monotonicMs >= sentAfterMs ? { waitsFor, unseenSinceMs: sentAfterMs } : { waitsFor, untilMs: sentAfterMs };
}

function noPlace(_: Candidate, { draft, spec, roster }: Line): Refusal | undefined {
  const most = maxInProgressOf(spec, roster.matched);
  if (draft.openCount < most) return undefined;
  return { waitsFor: `a place: strategy.maxInProgress allows no more than ${most} at once`, forAll: true };
}

/** U1: of what is in flight a ledger holds so much. */
function tooManyOpen(_: Candidate, { draft, settings }: Line): Refusal | undefined {
  if (draft.openCount < settings.maxOpen) return undefined;
  return { waitsFor: `a place: no policy has more than ${settings.maxOpen} in flight`, forAll: true };
}

/** U2: attempts are written ahead in batches, so that none waits for its turn for longer than it lives. */
function batchFull(_: Candidate, { batched, room }: Line): Refusal | undefined {
  return batched < room ? undefined : { waitsFor: undefined, forAll: true };
}

/** `maxInProgress` as a number: a percentage is of the matched ones, rounded up, at least 1. */
export function maxInProgressOf(spec: CollectorVersionPolicySpec, matched: number): number {
  const { maxInProgress } = spec.strategy;
  if (typeof maxInProgress === 'number') return maxInProgress;
  return Math.max(1, Math.ceil((Number.parseFloat(maxInProgress) / 100) * matched));
}

/** The wait before the attempt after `used` ones: grows by the factor from one to the next, up to the cap. */
export function backOffMs(spec: CollectorVersionPolicySpec, used: number): number {
  const { duration, factor, cap } = spec.retryPolicy.backoff;
  const firstMs = parseDuration(duration) ?? 0;
  const capMs = parseDuration(cap) ?? Number.POSITIVE_INFINITY;
  return Math.min(capMs, firstMs * factor ** Math.max(0, used - 1));
}
