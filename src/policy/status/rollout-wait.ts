/** Explains why a running rollout starts no upgrade now, and chooses the reason that the status shows. */
import { reasons } from '../../api/conditions.ts';
import type { Instant } from '../../base/clock.ts';
import { counted } from '../../base/number-text.ts';
import { isoSeconds } from '../../base/time-text.ts';
import type { Health } from '../../controller/health.ts';
import type { Admission } from '../admission/admission.ts';
import type { Refusal } from '../admission/start-rules.ts';
import { monotonicOf } from '../attempts/attempt.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import { laterStage } from '../members/stages.ts';
import { type Counts, countUnfinished } from '../members/state-counts.ts';
import { mayJoin, type RolloutState } from '../rollout/rollout-state.ts';
import { type RolloutWait, stageReasons } from './policy-health.ts';
import { waitText } from './wait-text.ts';

export interface DecisionSoFar {
  readonly admission: Admission;
  readonly state: RolloutState;
  readonly pending: PendingChanges;
  readonly now: Instant;
}

/**
 * Returns the reason that the status shows while the rollout is waiting, or undefined if the rollout is not waiting.
 */
export function waitOf(found: DecisionSoFar): RolloutWait | undefined {
  return waitAtGate(found) ?? waitForRules(found);
}

/** Reports whether all remaining collectors are waiting for a user, for example for an approval. */
export function waitsForUsers(found: DecisionSoFar, { reason }: Health): boolean {
  const { admission, pending, state } = found;
  if (pending.openCount > 0 || (admission.refusal !== undefined && waitAtGate(found) === undefined)) return false;
  const { gate } = state;
  if (gate?.byPerson === true && reason === gate.reason) return true;
  return reason === reasons.awaitingApproval && admission.nextMs === Number.POSITIVE_INFINITY;
}

/**
 * Returns the monotonic time in ms at which upgrades may start again, for example because a maintenance window opens.
 */
export function nextStartMs({ admission, state, now }: DecisionSoFar): number {
  const gateMs = monotonicOf(state.gate?.untilMs, now) ?? Number.POSITIVE_INFINITY;
  return Math.min(admission.refusal?.untilMs ?? Number.POSITIVE_INFINITY, admission.nextMs, gateMs);
}

/**
 * Returns the reason to wait if all remaining collectors belong to later stages, or if the last stage is still soaking.
 * Otherwise returns undefined.
 */
function waitAtGate({ admission: { refusal }, state, pending, now }: DecisionSoFar): RolloutWait | undefined {
  const { gate } = state;
  if (!gate) return undefined;
  const wait = () => toWait({ ...gate, untilMs: monotonicOf(gate.untilMs, now) }, '', now);
  const counts = pending.counts();
  const isStageWaiting = gate.reason !== undefined && stageReasons.has(gate.reason);
  if (countUnfinished(counts) === 0) return isStageWaiting ? wait() : undefined;
  const isWindowAlone = refusal === undefined || refusal.reason === reasons.waitingForWindow;
  return isWindowAlone && toBeStarted(counts) === countBehind(state, pending) ? wait() : undefined;
}

/** Returns the number of collectors that are waiting for a later stage to start. */
function countBehind(state: RolloutState, pending: PendingChanges): number {
  let behind = toBeStarted(pending.stageCounts(laterStage));
  for (const index of (state.header.stages ?? []).keys())
    if (!mayJoin(index, state)) behind += pending.stageCounts(index).pending;
  return behind;
}

function toBeStarted({ pending, retrying, drifting }: Counts): number {
  return pending + retrying + drifting;
}

function waitForRules({
  admission: { refusal, post, waits, hasBriefWait },
  now,
}: DecisionSoFar): RolloutWait | undefined {
  if (refusal) return toWait(refusal, '', now);
  const moves = hasBriefWait || post.length > 0;
  const wait = waits.find(({ forAll }) => forAll || !moves);
  if (!wait) return undefined;
  return toWait(wait, wait.forAll ? '' : ` (${counted(wait.collectors, 'collector')})`, now);
}

function toWait(
  { cause, reason, untilMs = Infinity }: Refusal,
  collectors: string,
  now: Instant,
): RolloutWait | undefined {
  if (!cause) return undefined;
  const isKnown = untilMs > now.monotonicMs && untilMs !== Infinity;
  const until = isKnown ? ` until ${isoSeconds(now.wallMs + untilMs - now.monotonicMs)}` : '';
  return { waitingFor: `${waitText(cause)}${collectors}${until}`, reason };
}
