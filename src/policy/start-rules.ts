/**
 * What may be started: rules, each a named function that refuses with a reason that a person understands, or has nothing to say.
 *
 * The two lists are the whole of it, and their order is the order in which reasons are told. Rules for all are asked once a
 * decision, and none of a policy's collectors starts while one of them refuses; rules for one are asked about each collector that
 * could be started, in the strategy's order. Whether it is in the line at all is its standing (`standing.ts`).
 */

import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicySpec, Stage } from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { parseDuration } from '../base/duration.ts';
import { pausedByOf } from '../controller/pauses.ts';
import type { AdmissionInput } from './admission.ts';
import { type Moment, monotonicOf } from './attempt.ts';
import type { Observation } from './decide.ts';
import type { Ending, RolloutStop } from './ledger.ts';
import type { MaintenanceCalendar } from './maintenance-calendar.ts';
import { needsApproval } from './stage-progress.ts';
import { shareOf } from './stages.ts';

export interface Refusal {
  /** Completes the sentence "waiting for …"; undefined where it is over in a moment. */
  readonly waitsFor: string | undefined;
  /** Of the condition, where nothing else happens meanwhile; the usual one where absent. */
  readonly reason?: string;
  /** Monotonic: nothing changes before then; undefined where something that we hear of ends it. */
  readonly untilMs?: number;
  /** The collector has to be seen in a listing sent at or after this. */
  readonly unseenSinceMs?: number;
  /** Nobody who comes later in the line can start, either. */
  readonly forAll?: true;
}

type RuleForAll = (policy: CollectorVersionPolicy, known: KnownOfAll) => Refusal | undefined;

/** What rules for all go by. */
export interface KnownOfAll {
  readonly observation: Observation;
  /** Absent while the rollout goes on. */
  readonly stop: RolloutStop | undefined;
  readonly calendar: MaintenanceCalendar;
  readonly now: Moment;
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

/** A collector that could be started, and why. */
export type Candidate = { readonly id: string } & (
  | { readonly because: 'pending' }
  /** To be taken back to its former version. */
  | { readonly because: 'rollback' }
  | { readonly because: 'failed'; readonly ending: Ending; readonly used: number }
  /** Monotonic: when it was first seen off the target. */
  | { readonly because: 'drifted'; readonly sinceMs: number }
);

/** What has been admitted so far, and what the rules go by. */
export interface Line extends AdmissionInput {
  /** How many of a stage are in upgrade, and how many may be; undefined where it sets no limit. */
  readonly stagePlaces: (stage: number) => { readonly open: number; readonly most: number } | undefined;
  /** How many have been written ahead in this batch. */
  readonly batched: number;
}

type RuleForOne = (candidate: Candidate, line: Line) => Refusal | undefined;

const rulesForOne: readonly RuleForOne[] = [
  postUnanswered,
  ownWindowClosed,
  stageNotReached,
  stageNotApproved,
  backingOff,
  failedUnseen,
  driftUnconfirmed,
  perhapsBack,
  noPlaceInStage,
  noPlace,
  tooManyOpen,
  batchFull,
];

/** Why nothing of this policy may start; undefined where something may. */
export function refusalOfAll(policy: CollectorVersionPolicy, known: KnownOfAll): Refusal | undefined {
  for (const rule of rulesForAll) {
    const refusal = rule(policy, known);
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

/** A directory has a manifest that cannot be used and has no former version (D1). */
function heldByManifest(_: CollectorVersionPolicy, { observation: { policiesHold } }: KnownOfAll): Refusal | undefined {
  return policiesHold === undefined
    ? undefined
    : { waitsFor: 'a manifest that cannot be used to be corrected or deleted' };
}

/** R10: the kill switch of the operator. */
function allPaused(_: CollectorVersionPolicy, { observation: { pausedForAll: by } }: KnownOfAll): Refusal | undefined {
  return by === undefined ? undefined : { waitsFor: `the end of the pause of everything by ${by}` };
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

/** What takes collectors back goes on although nothing new begins. */
function stopped(_: CollectorVersionPolicy, { stop }: KnownOfAll): Refusal | undefined {
  return stop === undefined || stop.kind === 'rollback' ? undefined : { waitsFor: 'a person, since it is stopped' };
}

function targetNotOffered(
  _: CollectorVersionPolicy,
  { observation: { notOffered }, stop }: KnownOfAll,
): Refusal | undefined {
  // Who is taken back does not need the build that it came from.
  return notOffered === undefined || stop ? undefined : { waitsFor: 'the service to offer the build that is wanted' };
}

function serviceUnusable(_: CollectorVersionPolicy, { observation: { problem } }: KnownOfAll): Refusal | undefined {
  return problem && { waitsFor: 'the service, which cannot be used' };
}

function held(_: CollectorVersionPolicy, { observation: { heldBy } }: KnownOfAll): Refusal | undefined {
  return heldBy === undefined ? undefined : { waitsFor: heldBy };
}

/** U1: what cannot be remembered must not be started. */
function ledgerFull(_: CollectorVersionPolicy, { observation }: KnownOfAll): Refusal | undefined {
  return observation.ledgerFull ? { waitsFor: 'room in the ledger' } : undefined;
}

function windowClosed(_: CollectorVersionPolicy, { calendar, now }: KnownOfAll): Refusal | undefined {
  return calendar.byCollector ? undefined : closedAt(calendar, now, undefined);
}

/** R8, where windows open by the collectors' own zones. */
export function ownWindowClosed({ id }: Candidate, { calendar, roster, now }: Line): Refusal | undefined {
  return calendar.byCollector ? closedAt(calendar, now, roster.row(id)?.collector.timeZone) : undefined;
}

function closedAt(calendar: MaintenanceCalendar, now: Moment, zone: string | undefined) {
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
      return { waitsFor: 'a time zone of its own that can be read', reason };
  }
}

/** Whether its stage has not come yet, or waits for a person. */
export function ownStageAhead(candidate: Candidate, line: Line): Refusal | undefined {
  return stageNotReached(candidate, line) ?? stageNotApproved(candidate, line);
}

/** R2: one stage after the other. Who came late to a stage that has ended need not wait; who is taken back, neither (R7). */
function stageNotReached({ id }: Candidate, { course, roster, now }: Line): Refusal | undefined {
  const { gate, reached } = course.stages;
  if (course.wayBack || !gate || roster.stageOf(id) <= reached) return undefined;
  const untilMs = monotonicOf(gate.untilMs, now);
  return {
    waitsFor: gate.waitsFor,
    ...(gate.reason !== undefined && { reason: gate.reason }),
    ...(untilMs !== undefined && { untilMs }),
  };
}

/** Approval stands before a stage, also for who comes to one that was passed over without it. */
function stageNotApproved({ id }: Candidate, { course, roster }: Line): Refusal | undefined {
  const index = roster.stageOf(id);
  const stage = roster.stages.stages[index];
  const isUnderWay = index === course.stages.current;
  if (course.wayBack || isUnderWay || !stage || !needsApproval(stage, course.header)) return undefined;
  return { waitsFor: `the approval of stage ${stage.name}`, reason: reasons.awaitingApproval };
}

function postUnanswered({ id }: Candidate, { flying }: Line): Refusal | undefined {
  return flying.has(id) ? { waitsFor: undefined } : undefined;
}

function backingOff(candidate: Candidate, { now, spec }: Line): Refusal | undefined {
  if (candidate.because !== 'failed') return undefined;
  // Whom a person has tried again does not wait.
  if (candidate.used === 0) return undefined;
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

/** A list that shows the former version may be of before the upgrade, or of after the way back that a restored ledger does not know. */
function perhapsBack(candidate: Candidate, line: Line): Refusal | undefined {
  if (candidate.because !== 'rollback') return undefined;
  const { before, ending } = line.draft.entry(candidate.id) ?? {};
  if (line.roster.row(candidate.id)?.collector.collectorVersion !== before) return undefined;
  const sentAfterMs = (ending?.sinceMs ?? 0) + line.settings.graceMs;
  return unseen(candidate, sentAfterMs, 'a look at who may be back already', line);
}

function unseen({ id }: Candidate, sentAfterMs: number, waitsFor: string, { roster, now }: Line): Refusal | undefined {
  if ((roster.row(id)?.seenAtMs ?? 0) >= sentAfterMs) return undefined;
  return now.monotonicMs >= sentAfterMs ? { waitsFor, unseenSinceMs: sentAfterMs } : { waitsFor, untilMs: sentAfterMs };
}

function noPlaceInStage({ id }: Candidate, { stagePlaces, roster, course }: Line): Refusal | undefined {
  if (course.wayBack) return undefined;
  const stage = roster.stageOf(id);
  const places = stagePlaces(stage);
  if (places === undefined || places.open < places.most) return undefined;
  const { name } = roster.stages.stages[stage] as Stage;
  const waitsFor = `a place: stage ${name} allows no more than ${places.most} at once`;
  // Those after it in the line are of the same stage.
  return stage === course.stages.current ? { waitsFor, forAll: true } : { waitsFor };
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
  return shareOf(spec.strategy.maxInProgress, matched);
}

/** The wait before the attempt after `used` ones: grows by the factor from one to the next, up to the cap. */
export function backOffMs(spec: CollectorVersionPolicySpec, used: number): number {
  const { duration, factor, cap } = spec.retryPolicy.backoff;
  const firstMs = parseDuration(duration) ?? 0;
  const capMs = parseDuration(cap) ?? Number.POSITIVE_INFINITY;
  return Math.min(capMs, firstMs * factor ** Math.max(0, used - 1));
}
