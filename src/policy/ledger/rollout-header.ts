/**
 * Begins, continues and ends rollouts in the ledger's header. A policy has one rollout for each of its target versions, one
 * after another.
 */
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';
import { counted, wordFor } from '../../base/number-text.ts';
import { quietText, verdictOf } from '../analysis/message-analysis.ts';
import { comparedAfterRollback } from '../analysis/recovery.ts';
import type { Counts } from '../members/state-counts.ts';
import {
  type AnalysisOutcome,
  emptyTally,
  type LedgerHeader,
  type RolloutHistory,
  type RolloutStop,
  type StageAnalysis,
  withNewTally,
} from './ledger.ts';

const maxHistory = 10;

/** Adds an ended rollout to the history, newest first. A rollout that continued after its completion is listed only once. */
export function withHistory(history: readonly RolloutHistory[], ended: RolloutHistory): readonly RolloutHistory[] {
  return [ended, ...history.filter(({ id }) => id !== ended.id)].slice(0, maxHistory);
}

/**
 * Maximum number of characters of the service's address in `status.noLedgerFor`. For a longer address, a ledger is stored
 * instead.
 */
const maxServiceLength = 1024;

/**
 * Whether a ledger must be stored, because its header contains facts that the policy's status does not show: an attempt, a
 * started stage, a stop, or a person's action (U1).
 */
export function needsLedger({ service, attempts, stages = [], actions, stop, unproven }: LedgerHeader): boolean {
  const isPlain = attempts === 0 && stages.length === 0 && !actions && !stop && !unproven;
  return !isPlain || service.length > maxServiceLength;
}

/** Input for the header of a rollout that begins now. */
export interface Beginning {
  readonly service: string;
  readonly target: string;
  readonly wallMs: number;
  /** Numbers of updated and failed collectors in the rollout that ends now. */
  readonly counts: Pick<Counts, 'updated' | 'failed'> | undefined;
  /** Ended rollouts that the policy's status shows although the ledger does not contain them, newest first. */
  readonly shown?: readonly RolloutHistory[];
}

/**
 * Builds the ledger header of a rollout that begins now.
 * @param before header of the ledger, if a ledger for this service exists
 * @param status status that was shown last; its rollout numbers are continued if the ledger was lost, so that no rollout id is
 *   used twice
 */
export function nextRollout(
  before: LedgerHeader | undefined,
  status: CollectorVersionPolicyStatus | undefined,
  { service, target, wallMs, counts, shown = [] }: Beginning,
): LedgerHeader {
  const number = Math.max(before?.rolloutNumber ?? 0, newestNumber(status)) + 1;
  return takeUp({
    service,
    rolloutId: `${number}-${target}`,
    rolloutNumber: number,
    target,
    startedAtMs: wallMs,
    completedAtMs: undefined,
    attempts: before?.attempts ?? 0,
    // Attempts in flight may have been made for an earlier selector of the policy, so the digest of that selector is kept
    // (U12).
    ...(before?.selection !== undefined && { selection: before.selection }),
    tally: { ...emptyTally, number: 0 },
    history: shown.reduceRight(withHistory, before ? historyAfter(before, counts, wallMs) : []),
  });
}

/**
 * Applies the result of the last rollout to the same target version. If that rollout was stopped, the new rollout begins
 * stopped and waits for a person's retry. If that rollout was not completed, every stage of the new rollout soaks (R6).
 */
function takeUp(header: LedgerHeader): LedgerHeader {
  const former = header.history.filter(({ targetVersion }) => targetVersion === header.target);
  const [last] = former;
  const oldest = last?.outcome === 'Completed' ? undefined : former.findLast(({ outcome }) => outcome !== 'Completed');
  const stop = last && stopOf(last);
  return {
    ...header,
    ...(oldest && { unproven: true, unprovenSinceMs: oldest.startedAtMs }),
    // A rollback or an inconclusive stage is not continued in the new rollout, which begins with an ordinary stop instead.
    ...(stop && { stop: { ...stop, kind: stop.kind === 'abort' ? 'abort' : 'failures' } }),
  };
}

/**
 * Stop with which a rollout begins, because the last rollout to the same target version was stopped; undefined if it was not.
 */
function stopOf({ id, outcome, startedAtMs, endedAtMs, stop }: RolloutHistory): RolloutStop | undefined {
  const kind = stop?.kind ?? stopKinds[outcome];
  if (kind === undefined) return undefined;
  // If the stop is older than the rollout, it was inherited from an earlier rollout. The message of the stop then already
  // names that rollout.
  if (stop && stop.atMs < startedAtMs) return stop;
  const told = `The earlier rollout ${id} to the same target version was ${stopWords[kind]}`;
  if (!stop) return { kind, message: told, atMs: endedAtMs };
  const { exceeded: _, ...former } = stop;
  return { ...former, message: `${told}: ${stop.message}` };
}

const stopWords = { failures: 'stopped', inconclusive: 'stopped', rollback: 'rolled back', abort: 'aborted' } as const;
/** Outcomes of rollouts that were stopped, by the kind of the stop. */
const outcomes = { failures: 'Stopped', inconclusive: 'Stopped', rollback: 'RolledBack', abort: 'Aborted' } as const;
const stopKinds: { readonly [O in RolloutHistory['outcome']]?: RolloutStop['kind'] } = {
  Stopped: 'failures',
  RolledBack: 'rollback',
  Aborted: 'abort',
};

export interface Progress {
  readonly attempts: number;
  readonly selection: string;
  readonly counts: Counts;
  /** Whether all collectors that count for the rollout run the target version, apart from tolerated failures. */
  readonly isUpdated: boolean;
  /**
   * Whether the rollout can be marked as completed: its stages have ended, no failure needs action, and (without stages) no
   * collector is left to upgrade.
   */
  readonly isOver: boolean;
  readonly wallMs: number;
}

/**
 * Ledger header after a decision, with new counts of attempts. If the rollout is complete, the header has the time of
 * completion.
 */
export function headerAfter(header: LedgerHeader, progress: Progress): LedgerHeader {
  const { attempts, selection, counts, isUpdated, isOver, wallMs } = progress;
  const isSame = attempts === header.attempts && selection === header.selection;
  const next = isSame ? header : { ...header, attempts, selection };
  // After the completion, failures are counted from zero again whenever all collectors run the target version (R5).
  const isAtTarget = isUpdated && counts.failed === 0;
  if (header.completedAtMs !== undefined) return isAtTarget && header.tally.finished > 0 ? withNewTally(next) : next;
  // A rollout is not complete while no collector runs the target version, for example because all are offline or belong to other
  // policies.
  if (!isOver || header.stop || counts.updated === 0) return next;
  const ended = endOf(header, 'Completed', counts, wallMs);
  const history = withHistory(header.history, ended);
  return { ...withNewTally(next), completedAtMs: wallMs, history };
}

/** Event that reports the beginning of a rollout. */
export function rolloutStarted({ rolloutId, target }: LedgerHeader) {
  const message = `Rollout ${rolloutId} begins: it upgrades the selected collectors to ${target}.`;
  return { type: 'Normal', reason: 'RolloutStarted', message } as const;
}

/** Events for the stages that a decision has started or ended. */
export function stageEvents({ stages: before = [], rolloutId }: LedgerHeader, { stages: after = [] }: LedgerHeader) {
  const event = (reason: string, message: string) => ({ type: 'Normal', reason, message }) as const;
  return after.flatMap(({ name, endedAtMs, analysis }) => {
    const known = before.find((stage) => stage.name === name);
    const hasEnded = endedAtMs !== undefined && known?.endedAtMs === undefined;
    const isAnalyzed = analysis?.outcome !== undefined && known?.analysis?.outcome === undefined;
    const isChecked = analysis?.recovery?.recovered !== known?.analysis?.recovery?.recovered;
    return [
      ...(known ? [] : [event('StageStarted', `Stage ${name} of rollout ${rolloutId} begins.`)]),
      ...(isAnalyzed ? [analyzed(name, analysis, analysis.outcome)] : []),
      ...(isChecked && analysis ? recoveryEvents(name, analysis) : []),
      ...(hasEnded ? [event('StageCompleted', `Stage ${name} of rollout ${rolloutId} has ended.`)] : []),
    ];
  });
}

/** Event that reports the outcome of a stage's message analysis. */
function analyzed(stage: string, analysis: StageAnalysis, outcome: AnalysisOutcome) {
  const { judged, unjudged } = outcome;
  const collectors = counted(judged, 'compared collector');
  const left =
    unjudged === 0 ? '' : ` ${counted(unjudged, 'collector')} could not be compared with the time before the upgrade.`;
  switch (verdictOf(outcome)) {
    case 'Failed': {
      const message = `Stage ${stage}: of ${collectors}, ${quietText(analysis)}.${left}`;
      return { type: 'Warning', reason: 'StageAnalysisFailed', message } as const;
    }
    case 'Inconclusive': {
      const message = `Stage ${stage}: the message analysis has no result, because all collectors sent too few messages before the stage or were upgraded too late.`;
      return { type: 'Warning', reason: 'StageAnalyzed', message } as const;
    }
    case 'Passed': {
      const message = `Stage ${stage}: ${collectors} ${wordFor(judged, 'sends', 'send')} enough messages since the upgrade.${left}`;
      return { type: 'Normal', reason: 'StageAnalyzed', message } as const;
    }
  }
}

/** Event that reports whether collectors that stopped sending logs send them again after a rollback. */
function recoveryEvents(stage: string, { outcome, recovery: { recovered } = { fromMs: 0 } }: StageAnalysis) {
  if (recovered === undefined || !outcome) return [];
  const compared = comparedAfterRollback(outcome.quietest);
  const shipping = `${recovered} of ${counted(compared, 'collector')} in the list quietest ${wordFor(recovered, 'sends', 'send')} enough messages again after the rollback`;
  const message = `Stage ${stage}: ${compared === 0 ? 'all collectors in the list quietest were deleted' : shipping}.`;
  return recovered === compared
    ? [{ type: 'Normal', reason: 'CollectorsRecovered', message } as const]
    : [{ type: 'Warning', reason: 'CollectorsStillQuiet', message } as const];
}

/** Highest rollout number that the policy's status shows; 0 when it shows none. */
export function newestNumber(status: CollectorVersionPolicyStatus | undefined): number {
  return Math.max(...[status?.rollout, ...(status?.history ?? [])].map((one) => rolloutNumber(one?.id)));
}

/** Number at the beginning of a rollout id; 0 when there is no id. */
export function rolloutNumber(id: string | undefined): number {
  const number = Number.parseInt(id ?? '', 10);
  return Number.isSafeInteger(number) ? Math.max(0, number) : 0;
}

function endOf(
  header: LedgerHeader,
  outcome: RolloutHistory['outcome'],
  { updated, failed }: Pick<Counts, 'updated' | 'failed'>,
  endedAtMs: number,
): RolloutHistory {
  const { rolloutId, target, startedAtMs } = header;
  const actions = header.actions === undefined ? {} : { actions: header.actions };
  return { id: rolloutId, targetVersion: target, startedAtMs, endedAtMs, outcome, updated, failed, ...actions };
}

function historyAfter(before: LedgerHeader, counts: Beginning['counts'], wallMs: number): readonly RolloutHistory[] {
  const { stop } = before;
  if (before.completedAtMs !== undefined) {
    if (!stop) return before.history;
    return before.history.map((one) => (one.id === before.rolloutId ? { ...one, stop } : one));
  }
  const outcome = stop ? outcomes[stop.kind] : 'Superseded';
  const ended = endOf(before, outcome, counts ?? { updated: 0, failed: 0 }, wallMs);
  return withHistory(before.history, { ...ended, ...(stop && { stop }) });
}
