/**
 * Evaluates the state of a rollout: its stop, its active stage, and the reason why later stages wait (R2, R3, R5).
 *
 * - Failures are evaluated first.
 * - A stage ends when its soak has ended and all its collectors that can be upgraded run the target version.
 * - The next stage then chooses its collectors. One decision starts at most one stage.
 */

import { annotations, parseApproval } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicySpec, Stage } from '../../api/generated/collector-version-policy.ts';
import { sameValue } from '../../base/canonical-text.ts';
import type { Row } from '../../fleet/fleet-rows.ts';
import {
  type AnalyzedMember,
  analysisPeriods,
  analysisVerdict,
  countDelayMs,
  countQuery,
  judgeMembers,
} from '../analysis/message-analysis.ts';
import type { AnalysisOrder } from '../analysis/message-counter.ts';
import { checkRecovery, type PendingCheck } from '../analysis/recovery.ts';
import {
  type AnalysisOutcome,
  emptyTally,
  type LedgerHeader,
  type RolloutStop,
  type StageRecord,
  type Tally,
} from '../ledger/ledger.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import type { MemberView } from '../members/policy-member-index.ts';
import {
  chooseMembers,
  hasMember,
  laterStage,
  needsApproval,
  noStage,
  type StageCandidate,
  soakEndMs,
  stageStarted,
  takesRemaining,
  waitingStages,
} from '../members/stages.ts';
import { type Counts, countUnfinished, totalOf } from '../members/state-counts.ts';
import { verdictIn, type WindowVerdict } from '../schedule/maintenance-calendar.ts';
import type { DecideInput } from './decide-input.ts';
import { countEarlierEnds } from './evidence.ts';
import { type Excess, findExcess, hasTolerance, isStopDue } from './failure-verdict.ts';
import { isRollbackOver, planRollback, type RollbackPlan } from './rollback.ts';
import type { WaitCause } from './wait-cause.ts';

/** Reason why the collectors of later stages are waiting. */
export interface Gate {
  readonly cause: WaitCause;
  /**
   * Reason of the `Ready` condition while the rollout is waiting and no upgrade is running. If it is undefined, the
   * condition shows the default reason.
   */
  readonly reason: string | undefined;
  /** Wall-clock time in ms at which the wait ends, if known. */
  readonly untilMs?: number;
  /** True if only a user can end the wait. */
  readonly byPerson: boolean;
}

interface EvaluatedStages {
  /** Ledger header after the evaluation. */
  readonly header: LedgerHeader;
  /** Index of the active stage, if any. */
  readonly current: number | undefined;
  /** Next stage, if it must still wait although the stage before it has ended. */
  readonly next?: Stage;
  /** Collectors of the stage that this decision starts. */
  readonly started?: readonly string[];
  readonly gate?: Gate | undefined;
  /** Messages to count next, for the stage's analysis or for the check after a rollback. */
  readonly analysis?: AnalysisOrder;
  /**
   * Earliest wall-clock time in ms at which the collector list may be read at the end of a soak. The stage waits for
   * this read.
   */
  readonly sweepFromMs?: number;
}

export interface RolloutState extends EvaluatedStages {
  /** True if every stage has started. Until then, late joiners are not upgraded. */
  readonly isLastStarted: boolean;
  /**
   * The `maxFailures` that is exceeded although the rollout continues. Undefined if none is exceeded, or if the rollout
   * is stopped.
   */
  readonly excess: Excess | undefined;
  /** Current number of failures of the stopped stage or rollout. */
  readonly failedNow: number | undefined;
  /** Number of failed collectors to which no `maxFailures` applies. The user must decide how to continue. */
  readonly untolerated: number;
  /** Rollback plan; undefined if the rollout is not rolled back. */
  readonly rollback: RollbackPlan | undefined;
  /** Running check after a rollback, if any. */
  readonly recovery: PendingCheck | undefined;
}

export interface Evaluation {
  /** Ledger header after the annotations were applied. */
  readonly header: LedgerHeader;
  /** True if this decision applied a user's retry. Such a decision does not start a stage. */
  readonly retried: boolean;
  /** True if the policy may start upgrades now. */
  readonly mayStart: boolean;
}

export function evaluate(input: DecideInput, pending: PendingChanges, evaluation: Evaluation): RolloutState {
  const { policy } = input;
  const judged = judge(input, pending, evaluation.header);
  const progress = judged.header.stop
    ? stopped(judged.header)
    : new StageProgress(input, pending, evaluation, judged.header).run();
  const { header: decided } = progress;
  const { stop } = decided;
  const rollback = stop?.kind === 'rollback' ? rollbackOf(input, pending, decided) : undefined;
  const { header, check, order } =
    rollback && isRollbackOver(rollback) ? recoveryOf(input, decided) : { header: decided };
  return {
    ...progress,
    header,
    ...(order && { analysis: order }),
    recovery: check,
    isLastStarted: waitingStages(policy.spec, header).length === 0,
    excess: stop ? undefined : judged.excess,
    failedNow: stop && failuresOf(header, stop),
    untolerated: countUntolerated(input, pending, header),
    rollback,
  };
}

/**
 * Reports whether each stage of the rollout has ended, or has not started and would choose no collector. A stage that
 * would choose only offline collectors has not ended, because they may come back online. Returns true if there are no
 * stages.
 */
export function areStagesEnded(
  spec: CollectorVersionPolicySpec,
  header: LedgerHeader,
  pending: PendingChanges,
): boolean {
  if (currentOf(header) !== undefined) return false;
  const waiting = waitingStages(spec, header);
  if (waiting.length === 0) return true;
  if (heldUpBy(pending.counts(), spec) > 0) return false;
  // If the target is unproven, for example because an earlier rollout to it was stopped, collectors that already run
  // the target must still soak (R6).
  const left = [...pending.candidates()].filter(({ memberState }) => header.unproven || memberState !== 'updated');
  return waiting.every((stage) => !hasMember(stage, left, { ...spec, offlinePolicy: 'Wait' }));
}

function currentOf({ stages = [] }: Pick<LedgerHeader, 'stages'>): number | undefined {
  const last = stages.length - 1;
  return stages[last] && stages[last].endedAtMs === undefined ? last : undefined;
}

/**
 * Returns the number of collectors for which a stage must wait before it can end. With `offlinePolicy: Wait`, offline
 * collectors are included.
 */
function heldUpBy(counts: Counts, { offlinePolicy }: Pick<CollectorVersionPolicySpec, 'offlinePolicy'>): number {
  return countUnfinished(counts) + (offlinePolicy === 'Wait' ? counts.offline : 0);
}

/** Checks `maxFailures`, and stops the rollout if the failure policy requires it. Returns the changed header. */
function judge(
  { policy: { spec }, now }: DecideInput,
  pending: PendingChanges,
  header: LedgerHeader,
): { readonly header: LedgerHeader; readonly excess: Excess | undefined } {
  if (header.stop) return { header, excess: undefined };
  const current = currentOf(header);
  const record = header.stages?.[current ?? noStage];
  const counts = current === undefined ? pending.counts() : pending.stageCounts(current);
  const isStageEnd = record?.updatedAtMs !== undefined || heldUpBy(counts, spec) === 0;
  const excess = findExcess(spec, header, isStageEnd);
  const stop = excess && isStopDue(excess, spec, header) ? stopFor(spec, header, excess, now.wallMs) : undefined;
  return { header: stop ? { ...header, stop } : header, excess };
}

/**
 * Returns the stop for a rollout or stage that exceeds `maxFailures`, or undefined if the rollout continues. A
 * completed rollout is not rolled back, because its collectors are in use.
 */
function stopFor(
  { failurePolicy }: CollectorVersionPolicySpec,
  { completedAtMs }: LedgerHeader,
  { message, exceeded }: Excess,
  atMs: number,
): RolloutStop | undefined {
  const action = failurePolicy?.action ?? 'Pause';
  if (action === 'Continue') return undefined;
  const kind = action === 'Rollback' && completedAtMs === undefined ? 'rollback' : 'failures';
  const { stage } = exceeded;
  return { kind, message, exceeded, atMs, ...(stage === undefined ? {} : { stage }) };
}

/**
 * Returns the current number of failures in the stage or rollout that caused the stop (H3). Returns undefined if the
 * stop has another cause, or if no upgrade has ended since the last retry.
 */
function failuresOf({ stages = [], tally }: LedgerHeader, { exceeded }: RolloutStop): number | undefined {
  if (!exceeded) return undefined;
  const { stage } = exceeded;
  const { finished, failed } =
    stage === undefined ? tally : (stages.find(({ name }) => name === stage)?.tally ?? emptyTally);
  return finished === 0 ? undefined : failed;
}

function countUntolerated(
  { policy: { spec }, memberIndex }: DecideInput,
  pending: PendingChanges,
  header: LedgerHeader,
): number {
  const { stages = [], completedAtMs } = header;
  if (hasTolerance(undefined, spec)) return 0;
  if (completedAtMs !== undefined) return countLateFailures(memberIndex, pending, header);
  let untolerated = pending.counts().failed;
  for (const [index, stage] of stages.entries())
    if (hasTolerance(stage, spec)) untolerated -= pending.stageCounts(index).failed;
  return untolerated;
}

/**
 * Returns the number of collectors that have failed since the rollout was completed. Failures in a stage with
 * `maxFailures` are left out.
 */
function countLateFailures(
  memberIndex: MemberView,
  pending: PendingChanges,
  { stages = [], tally }: LedgerHeader,
): number {
  const ids = new Set([...memberIndex.members('failed'), ...pending.changes().map(({ collectorId }) => collectorId)]);
  let failures = 0;
  for (const id of ids) {
    const counted = pending.entry(id)?.counted;
    if (pending.stateOf(id) !== 'failed' || counted?.tally !== tally.number) continue;
    if (stages[counted.stage ?? noStage]?.maxFailures === undefined) failures++;
  }
  return failures;
}

function rollbackOf(
  { memberIndex, windows, settings }: DecideInput,
  pending: PendingChanges,
  { target }: LedgerHeader,
): RollbackPlan {
  const isZoneless = (row: Row | undefined) => verdictIn(windows, row?.collector.timeZone).kind === 'zoneUnreadable';
  return planRollback(memberIndex, pending, target, settings.graceMs, isZoneless);
}

function recoveryOf({ observation, memberIndex, now, settings }: DecideInput, header: LedgerHeader) {
  // A collector that belongs to the policy counts as listed, even if the service's list omits it. If the service offers
  // only one build, the list may omit collectors that run this build (U7).
  const isListed = (id: string) => (memberIndex.row(id) ?? memberIndex.member(id)) !== undefined;
  return checkRecovery(header, observation.messages, now.wallMs, settings, isListed);
}

/** Reason why the active stage has not ended. */
type Held = Omit<EvaluatedStages, 'header' | 'current'>;

/** Returns the progress of a rollout in which no stage starts or ends. */
function stopped(header: LedgerHeader): EvaluatedStages {
  return { header, current: currentOf(header) };
}

type SoakingStage = StageRecord & { readonly updatedAtMs: number };

/** Adds the collectors that sent too few messages to the number of failures in a stage or rollout. */
function withQuiet<T extends { readonly tally: Tally }>(counting: T, { judged, quiet }: AnalysisOutcome): T {
  const { tally } = counting;
  const counted = { finished: Math.max(tally.finished, judged), failed: tally.failed + quiet };
  return quiet === 0 ? counting : { ...counting, tally: { ...tally, ...counted } };
}

/**
 * Yields the collectors of a stage that run the target version. Collectors that the service reports as not alive are
 * left out.
 */
function* updatedMembers(
  memberIndex: MemberView,
  pending: PendingChanges,
  stage: number,
): IterableIterator<AnalyzedMember> {
  for (const id of memberIndex.ids()) {
    const isAlive = memberIndex.row(id)?.collector.alive !== false;
    if (!isAlive || memberIndex.stageOf(id) !== stage || pending.stateOf(id) !== 'updated') continue;
    yield { id, upgradedAtMs: pending.entry(id)?.ending?.endedAtMs };
  }
}

/** Starts and ends the stages of a rollout. */
class StageProgress {
  readonly #input: DecideInput;
  readonly #pending: PendingChanges;
  readonly #evaluation: Evaluation;
  #header: LedgerHeader;

  constructor(input: DecideInput, pending: PendingChanges, evaluation: Evaluation, header: LedgerHeader) {
    this.#input = input;
    this.#pending = pending;
    this.#evaluation = evaluation;
    this.#header = header;
  }

  run(): EvaluatedStages {
    // While the selector matches no collectors, the stages do not change, because the selector may match collectors
    // again later.
    if (this.#pending.matched === 0) return stopped(this.#header);
    const current = currentOf(this.#header);
    const held = current === undefined ? undefined : this.#advance(current);
    return held ? { header: this.#header, current, ...held } : this.#startNext();
  }

  /** Ends the active stage if it can end. Otherwise returns the reason why the stage waits. */
  #advance(index: number): Held | undefined {
    const { policy, now } = this.#input;
    const counts = this.#pending.stageCounts(index);
    const before = this.#header.stages?.[index] as StageRecord;
    const left = heldUpBy(counts, policy.spec);
    if (before.updatedAtMs === undefined && left > 0) {
      const offline = left - countUnfinished(counts);
      return { gate: gate({ kind: 'stageEnd', stage: before.name, offline }) };
    }
    const failures = this.#heldByFailures(before, counts);
    if (failures) return { gate: failures };
    if (isInconclusive(before, counts)) return this.#stopInconclusive(before.name, noneAtTarget(before, counts));
    const record = { ...before, updatedAtMs: before.updatedAtMs ?? now.wallMs };
    this.#set(index, record);
    const soakMs = before.upgraded || (this.#header.unproven && counts.updated > 0) ? before.soakMs : 0;
    const held = this.#soak(record, counts, soakMs) ?? (soakMs > 0 ? this.#analyze(index, record) : undefined);
    if (!held) this.#set(index, { ...(this.#header.stages?.[index] as StageRecord), endedAtMs: now.wallMs });
    return held;
  }

  /**
   * Evaluates a stage's message analysis after the soak (R11). Returns the reason why the stage must wait, or undefined
   * if it need not wait.
   */
  #analyze(index: number, stage: SoakingStage): Held | undefined {
    const { now, observation, memberIndex, settings } = this.#input;
    const { name, analysis } = stage;
    if (!analysis || analysis.outcome) return undefined;
    const periods = analysisPeriods(analysis, stage.startedAtMs, soakEndMs(stage));
    const readyMs = periods.result.toMs + countDelayMs(settings);
    const cause = { kind: 'analysis', stage: name } as const;
    if (now.wallMs < readyMs) return { gate: gate(cause, reasons.analyzing, readyMs) };
    const order = { query: countQuery(analysis), periods: [periods.baseline, periods.result] };
    const { messages: reading } = observation;
    if (!reading || !sameValue(reading.order, order)) return { gate: gate(cause, reasons.analyzing), analysis: order };
    if (reading.kind === 'failed') {
      const { message, handling } = reading.error;
      const wait = gate({ ...cause, error: message }, reasons.analysisUnavailable);
      return { gate: { ...wait, byPerson: handling.kind === 'stall' }, analysis: order };
    }
    const members = updatedMembers(memberIndex, this.#pending, index);
    const nameOf = (id: string) => memberIndex.row(id)?.collector.name ?? id;
    const [baseline = new Map(), result = new Map()] = reading.counts;
    const judgement = judgeMembers(analysis, members, { baseline, result }, periods.result.fromMs, nameOf);
    const outcome = { ...judgement, scannedBytes: reading.scannedBytes };
    this.#set(index, withQuiet({ ...stage, analysis: { ...analysis, outcome } }, outcome));
    this.#header = withQuiet(this.#header, outcome);
    const verdict = analysisVerdict(outcome);
    if (verdict === 'Inconclusive') {
      return this.#stopInconclusive(
        name,
        `The message analysis of stage ${name} has no result, because each collector either sent too few messages before the stage, or was upgraded too late to be compared`,
      );
    }
    // Collectors that failed the analysis now count as failures. The stage waits until the next decision, which may
    // stop the rollout.
    return verdict === 'Failed' ? { gate: gate(cause, reasons.analyzing) } : undefined;
  }

  /** Makes a stage with failed collectors wait for a user if the spec does not set `maxFailures`. */
  #heldByFailures(stage: StageRecord, { failed }: Counts): Gate | undefined {
    const { name, analysis } = stage;
    const quiet = analysis?.outcome?.quiet ?? 0;
    if (failed + quiet === 0 || hasTolerance(stage, this.#input.policy.spec)) return undefined;
    return byPerson({ kind: 'failures', stage: name, failed, analysis }, reasons.collectorsFailed);
  }

  /** Stops the rollout because a stage is inconclusive. The stage then needs a new approval to continue. */
  #stopInconclusive(stage: string, message: string): Held {
    const { approved = [], handled } = this.#header;
    const approve = this.#input.policy.metadata.annotations[annotations.approve];
    const isHandled = approve !== undefined && parseApproval(approve)?.stage === stage;
    this.#header = {
      ...this.#header,
      stop: { kind: 'inconclusive', message, stage, atMs: this.#input.now.wallMs },
      approved: approved.filter((name) => name !== stage),
      ...(isHandled && { handled: { ...handled, approve } }),
    };
    return {};
  }

  /** Returns the reason why the soak of a stage has not ended, or undefined if the soak has ended. */
  #soak(stage: SoakingStage, counts: Counts, soakMs: number): Held | undefined {
    const { now, observation } = this.#input;
    const { name, members } = stage;
    const soakedMs = soakEndMs({ ...stage, soakMs });
    if (now.wallMs < soakedMs) {
      return { gate: gate({ kind: 'soak', stage: name, soakMs }, reasons.soaking, soakedMs) };
    }
    const sweptMs = observation.listing.completeSinceMs() ?? Number.NEGATIVE_INFINITY;
    // Only a listing that was requested after the soak can show that no collector went offline during the soak.
    if (soakMs > 0 && now.wallMs - (now.monotonicMs - sweptMs) < soakedMs) {
      return {
        gate: gate({ kind: 'soakListing', stage: name }, reasons.soaking),
        sweepFromMs: soakedMs,
      };
    }
    // A stage waits for collectors that left the target version and must be upgraded again. A stage with a fixed list
    // of collectors also waits for upgrades that are running or will be retried.
    const busy = counts.drifting + (members === undefined ? 0 : counts.inProgress + counts.retrying);
    return busy > 0 ? { gate: gate({ kind: 'stageEnd', stage: name, offline: 0 }, reasons.rollingOut) } : undefined;
  }

  #set(index: number, record: StageRecord): void {
    const { stages = [] } = this.#header;
    const before = stages[index];
    if (before && sameValue(before, record)) return;
    this.#header = { ...this.#header, stages: stages.with(index, record) };
  }

  /** Starts the next stage, or returns the reason why that stage must wait. */
  #startNext(): EvaluatedStages {
    const { policy, memberIndex } = this.#input;
    const [stage] = waitingStages(policy.spec, this.#header);
    // A decision that applies a user's retry does not start a stage.
    const isLater = policy.spec.mode === 'Observe' || this.#evaluation.retried;
    if (!stage || isLater) return stopped(this.#header);
    const held = this.#heldBack(stage, hasMember(stage, this.#pending.candidates(), policy.spec));
    if (held) return { ...stopped(this.#header), next: stage, gate: held };
    if (!this.#evaluation.mayStart) return { ...stopped(this.#header), next: stage };
    const candidates = this.#pending.candidates();
    const chosen = chooseMembers(stage, candidates, policy.spec, this.#header, memberIndex.matched);
    const closed = this.#windowsClosed(chosen);
    if (closed) return { ...stopped(this.#header), next: stage, gate: closed };
    const members = chosen.map(({ id }) => id);
    this.#start(stage, members);
    if (members.length === 0) return this.#startNext();
    const started = takesRemaining(stage) ? [] : members;
    return { header: this.#header, current: (this.#header.stages?.length ?? 0) - 1, started };
  }

  #heldBack(stage: Stage, isFilled: boolean): Gate | undefined {
    const { name } = stage;
    if ((isFilled || takesRemaining(stage)) && needsApproval(stage, this.#header))
      return byPerson({ kind: 'approval', stage: name }, reasons.awaitingApproval);
    if (isFilled || this.#header.approved?.includes(name)) return undefined;
    // The last stage takes all remaining collectors, and may be empty if no collectors are left.
    if (takesRemaining(stage) && this.#pending.counts().updated > 0) return undefined;
    return byPerson({ kind: 'emptyStage', stage: name }, reasons.awaitingApproval);
  }

  /**
   * Returns the reason to wait while no maintenance window is open for any chosen collector that needs an upgrade (R2).
   */
  #windowsClosed(chosen: readonly StageCandidate[]): Gate | undefined {
    let first: Extract<WindowVerdict, { kind: 'closed' }> | undefined;
    for (const { collector, memberState } of chosen) {
      if (memberState === 'updated') continue;
      const verdict = verdictIn(this.#input.windows, collector?.timeZone);
      if (verdict.kind !== 'closed') return undefined;
      if (!first || (verdict.opensAtMs ?? Infinity) < (first.opensAtMs ?? Infinity)) first = verdict;
    }
    return first && gate(first.because, reasons.waitingForWindow, first.opensAtMs);
  }

  #start(stage: Stage, members: readonly string[]): void {
    const { now, memberIndex } = this.#input;
    const { stages = [], selected = memberIndex.matched } = this.#header;
    const record = {
      ...stageStarted(stage, now.wallMs, this.#header),
      tally: countEarlierEnds(this.#pending, this.#header, members, stages.length),
      ...(!takesRemaining(stage) && { members: members.length, selection: memberIndex.selection }),
      ...(members.length === 0 && { endedAtMs: now.wallMs }),
    };
    this.#header = { ...this.#header, selected, stages: [...stages, record] };
  }
}

/** Reports whether a stage is inconclusive because none of its collectors runs the target version. */
function isInconclusive({ members }: StageRecord, counts: Counts): boolean {
  return counts.updated === 0 && (members !== undefined || totalOf(counts) > 0);
}

function noneAtTarget({ name }: StageRecord, counts: Counts): string {
  const members = totalOf(counts);
  const listed =
    members === 0 ? 'the service no longer lists any of them' : `the service still lists ${members} of them`;
  return `None of the collectors in stage ${name} runs the target version, and ${listed}`;
}

function gate(cause: WaitCause, reason?: string, untilMs?: number): Gate {
  return { cause, reason, byPerson: false, ...(untilMs !== undefined && { untilMs }) };
}

function byPerson(cause: WaitCause, reason: string): Gate {
  return { cause, reason, byPerson: true };
}

/** Reports whether the stage has started. A stage that a retry has removed counts as not started. */
export function isStageStarted(stage: number, { header }: Pick<RolloutState, 'header'>): boolean {
  return stage === noStage || header.stages?.[stage] !== undefined;
}

/** Reports whether a collector of this stage may start its first upgrade now. */
export function mayJoin(
  stage: number,
  { header, isLastStarted }: Pick<RolloutState, 'header' | 'isLastStarted'>,
): boolean {
  if (stage === noStage) return currentOf(header) === undefined;
  if (isLastStarted && stage !== laterStage) return true;
  const record = header.stages?.[stage];
  return record !== undefined && record.updatedAtMs === undefined && record.endedAtMs === undefined;
}
