/**
 * Decides what must be done for a policy. `decide` has no side effects: the caller stores the ledger changes and then
 * applies the decision. The steps, in order:
 * - Evaluate open upgrades (`evidence.ts`).
 * - Apply the annotations that users set (`annotation-actions.ts`).
 * - Evaluate the rollout and its failure policy (`rollout-state.ts`).
 * - Select new upgrades (`start-rules.ts`, `admission.ts`).
 * - Plan the next reads from the service (`read-plan.ts`).
 * - Compute the health, and build the status.
 */
import { reasons } from '../api/conditions.ts';
import { sameValue } from '../base/canonical-text.ts';
import { isoSeconds } from '../base/time-text.ts';
import { hourMs } from '../base/time-units.ts';
import type { Health } from '../controller/health.ts';
import { pausedByOf } from '../controller/pauses.ts';
import { admit } from './admission/admission.ts';
import { planReads, type ReadPlan } from './admission/read-plan.ts';
import { refusalOfAll } from './admission/start-rules.ts';
import type { AnalysisOrder } from './analysis/message-counter.ts';
import type { Asked } from './attempts/service-binding.ts';
import type { DurationSample } from './attempts/upgrade-duration.ts';
import type { Ending, Entry, LedgerChange, LedgerHeader } from './ledger/ledger.ts';
import { headerAfter, needsLedger } from './ledger/rollout-header.ts';
import { PendingChanges } from './members/pending-changes.ts';
import { type Counts, countUnfinished, withdrawn } from './members/state-counts.ts';
import { type AppliedAnnotations, applyAnnotations } from './rollout/annotation-actions.ts';
import type { DecideInput } from './rollout/decide-input.ts';
import {
  applyRetry,
  evaluateAttempts,
  evaluateEndings,
  forgetRefusals,
  forgetUnselected,
  selectionAfter,
} from './rollout/evidence.ts';
import { areStagesEnded, evaluate, type Gate, type RolloutState } from './rollout/rollout-state.ts';
import { describeEssentials, type Essentials, type EssentialsInput } from './status/describe.ts';
import { countToExamine, describeFigures, type Figures } from './status/describe-figures.ts';
import { type Fleet, type HealthInput, healthOf, type RolloutWait } from './status/policy-health.ts';
import { type DecisionSoFar, nextStartMs, waitOf, waitsForUsers } from './status/rollout-wait.ts';
import { verdicts } from './status/status-publisher.ts';

/** Counts, lists and estimated end for the policy's status. */
export type FiguresNow = Figures & Pick<Essentials, 'rollout'>;

export interface Decision extends LedgerChange {
  /**
   * True if a ledger must be stored for the policy. If no ledger is stored, the status contains everything that another
   * process needs (U1).
   */
  readonly needsLedger: boolean;
  /** Ledger entries of the upgrades that are requested after `changes` has been stored (U2). */
  readonly post: readonly Entry[];
  /**
   * Whether the policy needs more upgrade requests (`posts`) and more reads of upgrade tasks (`reads`). If the policy
   * no longer needs one kind of request, earlier failures of this kind are forgotten.
   */
  readonly needs: Readonly<Record<Asked, boolean>>;
  /** Plan of the next reads: pages of the collector list, and upgrade tasks. */
  readonly watch: ReadPlan;
  /** Reason why later stages are waiting; undefined if they are not waiting. */
  readonly gate: Gate | undefined;
  /** Messages that must be counted for an analysis; undefined if there are none. */
  readonly analysis: AnalysisOrder | undefined;
  readonly durations: readonly DurationSample[];
  readonly health: Health;
  /** Status of the policy without counts and estimates. */
  readonly essentials: Essentials;
  /**
   * Counts and estimates for the status after this decision. They take long to compute, so they are undefined if the
   * status is not written now.
   */
  readonly figures: FiguresNow | undefined;
  readonly requeueAfterMs: number;
  readonly finished: boolean;
  /** True if the policy has nothing to do until `requeueAfterMs`. */
  readonly isIdle: boolean;
}

/** Maximum interval in ms between decisions about a policy with maintenance windows. */
const longestCalendarMs = hourMs;

export function decide(input: DecideInput): Decision {
  const { observation, ledger, policy } = input;
  const { pending, durations, applied } = applyEvidence(input);
  const found = admitAll(input, pending, applied);
  const { state, admission, watch, fleet } = found;
  const wait = waitOf(found);
  const health = healthOf(healthInput(input, found, wait));
  const header = headerOf(input, found, health);
  const changes = pending.changes();
  const isLedgerNeeded = observation.isLedgerWritten || ledger.size > 0 || changes.length > 0 || needsLedger(header);
  // When a stage starts, or when a user retries the rollout, the next decision follows immediately.
  const isFollowed = state.started !== undefined || applied.retried;
  // A decision starts at most one stage. The next decision may start another stage.
  const isContinued = header !== ledger.header && (policy.spec.strategy.stages ?? []).length > 0;
  const isAtEnd = isFinished(input, health, pending.openCount, fleet.counts) || waitsForUsers(found, health);
  // A check after a rollback finishes without a user's help, unless it has failed with an error that a user must
  // correct.
  const isChecking = state.recovery !== undefined && state.recovery.error?.handling.kind !== 'stall';
  const decided = { ...found, state: { ...state, header } };
  return {
    changes,
    header,
    started: state.started ?? [],
    needsLedger: isLedgerNeeded,
    post: admission.post,
    needs: needsOf(input, found),
    watch,
    gate: state.gate,
    analysis: state.analysis,
    durations,
    health,
    ...statusOf(input, decided, { health, isLedgerNeeded, waitingFor: wait?.waitingFor }),
    requeueAfterMs: isFollowed ? 0 : nextDecisionMs(input, found),
    finished: !isFollowed && isAtEnd && !isChecking,
    isIdle: !isContinued && changes.length === 0 && hasNothingToDo(input, found),
  };
}

/**
 * Reports whether the policy still needs upgrade requests (`posts`) and task reads (`reads`).
 * - While upgrade requests are on hold after a failure, the policy still needs them if it has collectors left to
 *   upgrade.
 * - A policy that needs upgrade requests, but has no running upgrades, also needs task reads, because each upgrade
 *   needs both kinds of requests.
 */
function needsOf(input: DecideInput, { admission, pending, state, watch }: Found): Record<Asked, boolean> {
  const open = [...pending.open()].map((entry) => entry.open?.state);
  const isHeld = admission.refusal !== undefined;
  const observation = { ...input.observation, heldBy: undefined };
  const isAllowed = refusalOfAll({ ...input, observation, stop: state.header.stop }) === undefined;
  const isUnanswered = open.some((attempt) => attempt === 'intended' || attempt === 'unknown');
  const isPosting = isUnanswered || admission.post.length > 0 || (isHeld && countUnfinished(pending.counts()) > 0);
  const posts = isAllowed && isPosting;
  return { posts, reads: open.includes('accepted') ? watch.needsTasks : posts };
}

/**
 * Builds the policy's status. Leaves out counts and estimates if the status is not written now, because computing them
 * requires reading the whole ledger.
 */
function statusOf(
  input: DecideInput,
  { state, pending, fleet, unsent }: Found,
  described: Pick<EssentialsInput, 'health' | 'isLedgerNeeded' | 'waitingFor'>,
): Pick<Decision, 'essentials' | 'figures'> {
  const { policy, observation, memberIndex, windows, now } = input;
  const { health } = described;
  const essentials = describeEssentials({
    ...{ ...described, policy, counts: fleet.counts, state },
    window: windows.next,
    overlap: observation.overlap,
    wallMs: now.wallMs,
  });
  if (!observation.areFiguresDue && sameValue(verdicts(policy.status ?? {}), verdicts(essentials)))
    return { essentials, figures: undefined };
  const { rejected } = observation;
  const figures = describeFigures({ memberIndex, pending, fleet, unsent, rejected, health, spec: policy.spec, state });
  const { rollout } = essentials;
  const endMs = health.reconciling ? estimateEndMs(input, pending, state) : undefined;
  if (!rollout || endMs === undefined) return { essentials, figures };
  return { essentials, figures: { ...figures, rollout: { ...rollout, estimatedCompletionTime: isoSeconds(endMs) } } };
}

interface Found extends DecisionSoFar {
  readonly watch: ReadPlan;
  /** Number of upgrades that this decision cancels before their requests are sent. */
  readonly unsent: number;
  /** Counts of the policy's collectors after this decision. */
  readonly fleet: Fleet;
}

/** Applies the service's responses, the listings and the users' annotations to the ledger. */
function applyEvidence(input: DecideInput) {
  const { policy, ledger, memberIndex, observation, now } = input;
  const pending = new PendingChanges(ledger, memberIndex);
  const durations = evaluateAttempts(input, pending);
  evaluateEndings(input, pending);
  // New failures are counted before the annotations are applied, so that a user's retry also resets these failures.
  const applied = applyAnnotations(policy, pending.counted(ledger.header), now.wallMs);
  forgetUnselected(input, pending);
  if (applied.retried) applyRetry(input, pending);
  if (observation.notOffered !== undefined) forgetRefusals(memberIndex, pending);
  return { pending, durations, applied };
}

/** Evaluates the state of the rollout, selects the upgrades to start, and plans the next reads from the service. */
function admitAll(input: DecideInput, pending: PendingChanges, applied: AppliedAnnotations): Found {
  const state = evaluate(input, pending, {
    header: applied.header,
    retried: applied.retried,
    mayStart: refusalOfAll({ ...input, stop: undefined }) === undefined,
  });
  const admission = admit({ ...input, pending, state });
  const watch = planReads(input, pending, admission, state.sweepFromMs);
  const unsent = admission.refusal || state.header.stop ? input.observation.unsent : 0;
  const counts = withdrawn(pending.counts(), unsent);
  const fleet = { counts, matched: pending.matched, toExamine: countToExamine(input.memberIndex, pending) };
  return { admission, state, watch, pending, unsent, fleet, now: input.now };
}

function healthInput(
  { policy, ledger, observation, windows }: DecideInput,
  { state, fleet }: Found,
  wait: RolloutWait | undefined,
): HealthInput {
  return {
    ...observation,
    spec: policy.spec,
    pausedBy: observation.pausedForAll ?? pausedByOf(policy),
    badCalendar: windows.problem,
    targetVersion: ledger.header.target,
    ...{ fleet, wait, state },
  };
}

/** Returns the ledger header that the decision stores. */
function headerOf(input: DecideInput, { state, admission, pending, fleet }: Found, health: Health): LedgerHeader {
  const isUpdated = health.ready === 'True';
  const isCovered = state.excess === undefined && state.untolerated === 0;
  const { spec } = input.policy;
  const isStaged = (spec.strategy.stages ?? []).length > 0;
  return headerAfter(state.header, {
    attempts: admission.attempts,
    selection: selectionAfter(input, pending),
    counts: fleet.counts,
    isUpdated,
    isOver: (isUpdated || (isStaged && isCovered)) && areStagesEnded(spec, state.header, pending),
    wallMs: input.now.wallMs,
  });
}

/** Returns the time in ms until the next decision about the policy. An event can trigger a decision earlier. */
function nextDecisionMs({ policy, now, windows }: DecideInput, found: Found): number {
  const recoveryMs = (found.state.recovery?.untilMs ?? Infinity) - now.wallMs;
  const nextMs = Math.min(Math.min(found.watch.nextMs, nextStartMs(found)) - now.monotonicMs, recoveryMs);
  if (!policy.spec.maintenance) return nextMs;
  return Math.min(nextMs, longestCalendarMs, (windows.next?.toMs ?? Infinity) - now.wallMs);
}

/** Reports whether the policy is idle: all upgrades have ended, no other upgrade will start, and no read is planned. */
function hasNothingToDo({ policy, observation, memberIndex }: DecideInput, { pending, fleet, watch }: Found): boolean {
  const { counts } = fleet;
  if (observation.problem || observation.notOffered !== undefined || memberIndex.awaitsSweep) return false;
  if (watch.pages.size > 0 || watch.tasks.length > 0 || watch.sweepAfterMs !== undefined) return false;
  const isOpen = pending.openCount + counts.inProgress + counts.retrying + counts.drifting > 0;
  return !isOpen && (counts.pending === 0 || policy.spec.mode === 'Observe');
}

/**
 * Returns the estimated end of the rollout's last upgrade as wall-clock time in ms. Returns undefined while the rollout
 * is waiting for a user.
 */
function estimateEndMs(
  { policy, now: { wallMs } }: DecideInput,
  pending: PendingChanges,
  { header, current, gate }: RolloutState,
): number | undefined {
  const left = countUnfinished(pending.counts());
  const isComplete = header.completedAtMs !== undefined && current === undefined;
  if (left === 0 || header.stop || isComplete || gate?.byPerson) return undefined;
  const throughput = measureThroughput(pending.entries(), wallMs);
  if (throughput !== undefined) return Math.round(Math.max(wallMs, gate?.untilMs ?? 0) + left / throughput);
  const { id, estimatedCompletionTime: shown = '' } = policy.status?.rollout ?? {};
  const shownMs = Date.parse(shown);
  return id === header.rolloutId && shownMs > wallMs ? shownMs : undefined;
}

/**
 * Reports whether the state of the policy will change only after a user's action, or only after a long time. In that
 * case, `logfleet run DIR` may end.
 */
function isFinished({ policy, observation }: DecideInput, health: Health, open: number, counts: Counts): boolean {
  // If the service cannot be used, logfleet cannot learn how running upgrades end.
  if (observation.problem && health.stalled) return true;
  // A build can take days to reach `minAge`, so `logfleet run DIR` ends while the policy is waiting.
  if (open === 0 && health.reason === reasons.waitingForBuildAge) return true;
  if (open > 0 || health.reconciling) return false;
  return (
    health.ready === 'Unknown' || health.stalled || policy.spec.mode === 'Observe' || countUnfinished(counts) === 0
  );
}

/** Period in ms over which the throughput of a rollout is measured. */
const measuredMs = 15 * 60_000;

/**
 * Returns the number of upgrades that ended per ms in the last 15 minutes, or undefined if no upgrade ended. Time
 * without running upgrades is not counted, because the rollout was waiting at that time, for example for the end of a
 * pause.
 */
export function measureThroughput(entries: Iterable<Entry>, wallMs: number): number | undefined {
  const sinceMs = wallMs - measuredMs;
  const ended: Ending[] = [];
  for (const { ending } of entries) if (ending?.taskId !== undefined && ending.endedAtMs >= sinceMs) ended.push(ending);
  let runningMs = 0;
  let countedToMs = sinceMs;
  for (const { startedAtMs, endedAtMs } of ended.sort((left, right) => left.startedAtMs - right.startedAtMs)) {
    runningMs += Math.max(0, endedAtMs - Math.max(startedAtMs, countedToMs));
    countedToMs = Math.max(countedToMs, endedAtMs);
  }
  return runningMs === 0 ? undefined : ended.length / runningMs;
}
