/**
 * Evaluates the state of a rollout: its stop, the stage that is under way, and what the collectors of later stages wait for (R2, R3,
 * R5). Results are written to the ledger's header, because they cannot be observed again.
 *
 * - Failures are judged first, before anything more starts.
 * - A stage ends when all its members that can be upgraded are at the target and have soaked. A soak starts once and never again.
 * - The next stage then chooses its members, and starts when something may start. One decision starts at most one stage.
 *
 * `stages.ts` chooses the members. `start-rules.ts` decides which collectors may start.
 */

import { annotations, parseApproval } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicySpec, Stage } from '../../api/generated/collector-version-policy.ts';
import type { Row } from '../../fleet/fleet-rows.ts';
import type { DecideInput } from '../decide-input.ts';
import type { LedgerHeader, RolloutStop, StageRecord, Tally } from '../ledger/ledger.ts';
import { splitMembers } from '../ledger/ledger-codec.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import type { PolicyMemberIndex } from '../members/policy-member-index.ts';
import { type Counts, outstanding, totalOf } from '../members/state-counts.ts';
import { type Excess, findExcess, hasTolerance, isStopDue } from './failure-verdict.ts';
import { planRollback, type RollbackPlan } from './rollback.ts';
import {
  chooseMembers,
  hasMember,
  hasNoList,
  laterStage,
  needsApproval,
  noStage,
  stageStarted,
  waitingStages,
} from './stages.ts';

/** Reason why the collectors of later stages wait. */
export interface Gate {
  /** Completes the sentence "waiting for …". */
  readonly waitsFor: string;
  /** Reason of the condition while nothing else happens. */
  readonly reason: string | undefined;
  /** Wall ms at which the wait ends, if known. */
  readonly untilMs?: number;
  /** Whether only a person ends the wait. */
  readonly byPerson: boolean;
}

export interface RolloutState {
  /** Header after this evaluation: with counted attempts, stages and stop. */
  readonly header: LedgerHeader;
  /** Index of the started stage that is under way; undefined when none is. */
  readonly current: number | undefined;
  /** Stage whose turn has come and that has not started. */
  readonly next: Stage | undefined;
  /** Listed members of the stage that starts with this decision; undefined when none starts. */
  readonly started: readonly string[] | undefined;
  readonly gate: Gate | undefined;
  /** Wall ms from which a sweep is needed before the soak can end. */
  readonly sweepFromMs: number | undefined;
  /** Whether every stage has started, so that late joiners may start. */
  readonly isLastStarted: boolean;
  /** The exceeded tolerance while the rollout continues; undefined when none is exceeded. */
  readonly excess: Excess | undefined;
  /** Present tally of the scope that stopped the rollout; undefined when no attempt in it has ended. */
  readonly stopTally: Tally | undefined;
  /** Number of failed collectors that no tolerance covers. */
  readonly untolerated: number;
  /** Present while the rollout is rolled back, and afterwards. */
  readonly rollback: RollbackPlan | undefined;
}

export interface Evaluation {
  /** Header with the annotations that were applied. */
  readonly header: LedgerHeader;
  /** Whether a person has just retried. The next decision then starts stages. */
  readonly retried: boolean;
  /** Whether something of the policy may start now. */
  readonly mayStart: boolean;
}

/**
 * Time until a dead collector is certainly seen: the service reports it as alive for half an hour (4.8), and then a listing has to
 * be read.
 */
const deathSeenAfterMs = 35 * 60_000;

export function evaluate(input: DecideInput, pending: PendingChanges, evaluation: Evaluation): RolloutState {
  const { policy } = input;
  const judged = judge(input, pending, evaluation.header);
  const course = judged.header.stop
    ? stopped(judged.header)
    : new StageProgress(input, pending, evaluation, judged.header).run();
  const header = course.stop ? withStop(policy.metadata.annotations, course.header, course.stop) : course.header;
  const { stop } = header;
  return {
    header,
    current: course.current,
    next: stop ? undefined : course.next,
    started: stop ? undefined : course.started,
    gate: stop ? undefined : course.gate,
    sweepFromMs: stop ? undefined : course.sweepFromMs,
    isLastStarted: waitingStages(policy.spec, header).length === 0,
    excess: stop ? undefined : judged.excess,
    stopTally: stop && tallyOfStop(header, stop),
    untolerated: countUntolerated(input, pending, header),
    rollback: stop?.kind === 'rollback' ? rollbackOf(input, pending, header) : undefined,
  };
}

/** Whether every stage of the rollout has ended. A rollout without stages has none to wait for. */
export function areStagesEnded(spec: CollectorVersionPolicySpec, header: LedgerHeader): boolean {
  return waitingStages(spec, header).length === 0 && currentOf(header) === undefined;
}

/** Index of the stage that is under way; undefined when none is. */
function currentOf({ stages = [] }: Pick<LedgerHeader, 'stages'>): number | undefined {
  const last = stages.length - 1;
  return stages[last] && stages[last].endedAtMs === undefined ? last : undefined;
}

/** Number of collectors that delay the end of a stage. */
function heldUpBy(counts: Counts, { offlinePolicy }: Pick<CollectorVersionPolicySpec, 'offlinePolicy'>): number {
  return outstanding(counts) + (offlinePolicy === 'Wait' ? counts.offline : 0);
}

/** Header with the stop by the failure policy, if the failures exceed a tolerance. */
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

/** A rollout that was complete is stopped but never rolled back, because its collectors are in use. */
function stopFor(
  { failurePolicy }: CollectorVersionPolicySpec,
  { completedAtMs }: LedgerHeader,
  { message, exceeded, stage }: Excess,
  atMs: number,
): RolloutStop | undefined {
  const action = failurePolicy?.action ?? 'Pause';
  if (action === 'Continue') return undefined;
  const kind = action === 'Rollback' && completedAtMs === undefined ? 'rollback' : 'failures';
  return { kind, message, exceeded, atMs, ...(stage === undefined ? {} : { stage }) };
}

/** Header with the stop. An earlier approval of an inconclusive stage does not end it. */
function withStop(written: Readonly<Record<string, string>>, header: LedgerHeader, stop: RolloutStop): LedgerHeader {
  if (stop.kind !== 'inconclusive') return { ...header, stop };
  const approve = written[annotations.approve];
  const isOwn = parseApproval(approve)?.stage === stop.stage;
  return {
    ...header,
    stop,
    approved: (header.approved ?? []).filter((name) => name !== stop.stage),
    ...(isOwn && approve !== undefined && { handled: { ...header.handled, approve } }),
  };
}

/** Tally of the scope of a stop, whose attempts may end after the stop; undefined when it has none (H3). */
function tallyOfStop({ stages = [], tally }: LedgerHeader, { exceeded }: RolloutStop): Tally | undefined {
  if (!exceeded) return undefined;
  const { stage } = exceeded;
  const now = stage === undefined ? tally : stages.find(({ name }) => name === stage)?.tally;
  return now?.finished === 0 ? undefined : now;
}

function countUntolerated(
  { policy: { spec }, memberIndex }: DecideInput,
  pending: PendingChanges,
  header: LedgerHeader,
): number {
  const { stages = [], completedAtMs, tally } = header;
  if (hasTolerance(undefined, spec)) return 0;
  if (completedAtMs !== undefined) return countLateFailures(memberIndex, pending, tally.number);
  let untolerated = pending.counts().failed;
  for (const [index, stage] of stages.entries())
    if (hasTolerance(stage, spec)) untolerated -= pending.stageCounts(index).failed;
  return untolerated;
}

/** Number of collectors that failed after the completion. Failures from before it were tolerated. */
function countLateFailures(memberIndex: PolicyMemberIndex, pending: PendingChanges, tally: number): number {
  const ids = new Set([...memberIndex.members('failed'), ...pending.changes().map(({ collectorId }) => collectorId)]);
  let failures = 0;
  for (const id of ids) if (pending.stateOf(id) === 'failed' && pending.entry(id)?.counted?.tally === tally) failures++;
  return failures;
}

function rollbackOf(
  { memberIndex, calendar, now, settings }: DecideInput,
  pending: PendingChanges,
  { target }: LedgerHeader,
): RollbackPlan {
  const isZoneless = (row: Row | undefined) =>
    calendar.byCollector && calendar.verdict(now.wallMs, row?.collector.timeZone).kind === 'zoneUnreadable';
  return planRollback(memberIndex, pending, target, settings.graceMs, isZoneless);
}

/** Result of the stages: the header with their records, and a stop when a stage is inconclusive. */
interface Progress extends Pick<RolloutState, 'header' | 'current'> {
  readonly next?: Stage;
  readonly started?: readonly string[];
  readonly gate?: Gate;
  readonly sweepFromMs?: number;
  readonly stop?: RolloutStop;
}

/** A stopped rollout starts and ends no stage. */
function stopped(header: LedgerHeader): Progress {
  return { header, current: currentOf(header) };
}

/** Advances the stages as far as they go in one decision. */
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

  run(): Progress {
    // A selector that matches nothing for a while says nothing about the stages.
    if (this.#pending.matched === 0) return stopped(this.#header);
    const current = currentOf(this.#header);
    const held = current === undefined ? undefined : this.#advance(current);
    return held ? { header: this.#header, current, ...held } : this.#startNext();
  }

  /** Advances the stage that is under way. Returns what it waits for, or undefined when it has ended. */
  #advance(index: number): Omit<Progress, 'header' | 'current'> | undefined {
    const { policy, now } = this.#input;
    const counts = this.#pending.stageCounts(index);
    const before = this.#header.stages?.[index] as StageRecord;
    const left = heldUpBy(counts, policy.spec);
    if (before.updatedAtMs === undefined && left > 0) {
      return { gate: gate(`the end of stage ${before.name}${awaitedWords(left - outstanding(counts))}`) };
    }
    const failures = this.#heldByFailures(before, counts);
    if (failures) return { gate: failures };
    if (isInconclusive(before, counts)) return { stop: this.#inconclusive(before, counts) };
    const record = { ...before, updatedAtMs: before.updatedAtMs ?? now.wallMs };
    const soak = this.#soak(record, counts);
    this.#set(index, soak ? record : { ...record, endedAtMs: now.wallMs });
    return soak;
  }

  /** Without a tolerance, a failed member holds its stage until a person acts. */
  #heldByFailures(stage: StageRecord, { failed }: Counts): Gate | undefined {
    if (failed === 0 || hasTolerance(stage, this.#input.policy.spec)) return undefined;
    const collectors = failed === 1 ? '1 collector' : `${failed} collectors`;
    const waitsFor = `a person to examine ${collectors} of stage ${stage.name} that failed or died, because no maxFailures is set`;
    return byPerson(waitsFor, reasons.collectorsFailed);
  }

  #inconclusive({ name }: StageRecord, counts: Counts): RolloutStop {
    const members = totalOf(counts);
    const listed = members === 0 ? 'its members are no longer listed' : `${members} of its members are still listed`;
    const message = `No member of stage ${name} is at the target, and ${listed}`;
    return { kind: 'inconclusive', message, stage: name, atMs: this.#input.now.wallMs };
  }

  /** The wait for the end of the soak; undefined when the stage can end. */
  #soak(
    stage: StageRecord & { readonly updatedAtMs: number },
    counts: Counts,
  ): Omit<Progress, 'header' | 'current'> | undefined {
    const { now, observation } = this.#input;
    const { name, members, upgraded } = stage;
    const soakMs = upgraded || (this.#header.unproven && counts.updated > 0) ? stage.soakMs : 0;
    const soakedMs = stage.updatedAtMs + soakMs;
    if (now.wallMs < soakedMs) {
      const short = soakMs < deathSeenAfterMs ? ' (a death is visible only after 35m)' : '';
      return { gate: gate(`the end of the soak of stage ${name}${short}`, reasons.soaking, soakedMs) };
    }
    const sweptMs = observation.listing.completeSinceMs() ?? Number.NEGATIVE_INFINITY;
    // Only a listing shows a death, so a soak ends with a listing that was sent after it.
    if (soakMs > 0 && now.wallMs - (now.monotonicMs - sweptMs) < soakedMs) {
      return { gate: gate(`a listing of stage ${name} after its soak`, reasons.soaking), sweepFromMs: soakedMs };
    }
    // Members that left the target are corrected first. Late joiners of a stage without list do not delay its end.
    const busy = counts.drifting + (members === undefined ? 0 : counts.inProgress + counts.retrying);
    return busy > 0 ? { gate: gate(`the end of stage ${name}`, reasons.rollingOut) } : undefined;
  }

  #set(index: number, record: StageRecord): void {
    const { stages = [] } = this.#header;
    const before = stages[index];
    if (before?.updatedAtMs === record.updatedAtMs && before?.endedAtMs === record.endedAtMs) return;
    this.#header = { ...this.#header, stages: stages.with(index, record) };
  }

  /** Starts the next stage, or finds what it waits for. Stages without members are skipped where that proves nothing less. */
  #startNext(): Progress {
    const { policy, memberIndex } = this.#input;
    const [stage] = waitingStages(policy.spec, this.#header);
    // After a retry, the next decision chooses among the members that it has released.
    const isLater = policy.spec.mode === 'Observe' || this.#evaluation.retried;
    if (!stage || isLater) return stopped(this.#header);
    const held = this.#heldBack(stage, hasMember(stage, this.#pending.candidates(), policy.spec));
    if (held) return { ...stopped(this.#header), next: stage, gate: held };
    if (!this.#evaluation.mayStart) return { ...stopped(this.#header), next: stage };
    const { selected = memberIndex.matched, unproven = false } = this.#header;
    const members = chooseMembers(stage, this.#pending.candidates(), { spec: policy.spec, selected, unproven });
    this.#start(stage, members, selected);
    if (members.length === 0) return this.#startNext();
    const started = hasNoList(stage) ? [] : members;
    return { header: this.#header, current: (this.#header.stages?.length ?? 0) - 1, started };
  }

  #heldBack(stage: Stage, isFilled: boolean): Gate | undefined {
    const { name } = stage;
    if ((isFilled || hasNoList(stage)) && needsApproval(stage, this.#header))
      return byPerson(`the approval of stage ${name}`, reasons.awaitingApproval);
    if (isFilled || this.#header.approved?.includes(name)) return undefined;
    // Every collector that can be upgraded is in an earlier stage, so the last one has nothing to do.
    if (hasNoList(stage) && this.#pending.counts().updated > 0) return undefined;
    const waitsFor = `a collector for stage ${name}, which has none that can be upgraded: remove the stage, or approve it to skip it`;
    return byPerson(waitsFor, reasons.awaitingApproval);
  }

  #start(stage: Stage, members: readonly string[], selected: number): void {
    const { now } = this.#input;
    const { stages = [], memberShards = 0 } = this.#header;
    const record = stageStarted(stage, now.wallMs);
    const end = memberShards + (hasNoList(stage) ? 0 : splitMembers(members).length);
    const isEmpty = members.length === 0;
    this.#header = {
      ...this.#header,
      selected,
      ...(end > 0 && { memberShards: end }),
      stages: [
        ...stages,
        {
          ...record,
          ...(!hasNoList(stage) && { members: members.length, shards: [memberShards, end] as const }),
          ...(isEmpty && { endedAtMs: now.wallMs }),
        },
      ],
    };
  }
}

/** Whether the stage proves nothing: it had members, and none is at the target. */
function isInconclusive({ members }: StageRecord, counts: Counts): boolean {
  return counts.updated === 0 && (members !== undefined || totalOf(counts) > 0);
}

/** A stage that waits for offline collectors ends only when they come back. */
function awaitedWords(offline: number): string {
  if (offline === 0) return '';
  return offline === 1
    ? ', of which 1 collector has to come back'
    : `, of which ${offline} collectors have to come back`;
}

function gate(waitsFor: string, reason?: string, untilMs?: number): Gate {
  return { waitsFor, reason, byPerson: false, ...(untilMs !== undefined && { untilMs }) };
}

function byPerson(waitsFor: string, reason: string): Gate {
  return { waitsFor, reason, byPerson: true };
}

/** Whether the stage of this index has started. A retry can take back a stage that the index of members still has. */
export function isStageStarted(stage: number, { header }: Pick<RolloutState, 'header'>): boolean {
  return stage === noStage || header.stages?.[stage] !== undefined;
}

/** Whether a collector of this stage index may be started for the first time now. */
export function mayJoin(
  stage: number,
  { header, isLastStarted }: Pick<RolloutState, 'header' | 'isLastStarted'>,
): boolean {
  if (stage === noStage) return currentOf(header) === undefined;
  if (isLastStarted && stage !== laterStage) return true;
  const record = header.stages?.[stage];
  return record !== undefined && record.updatedAtMs === undefined && record.endedAtMs === undefined;
}
