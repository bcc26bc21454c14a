/** Rollouts in the ledger's header: one for each target of a policy, in order. */
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';
import type { Counts } from '../members/state-counts.ts';
import { emptyTally, type LedgerHeader, type RolloutHistory, type RolloutStop, withNewTally } from './ledger.ts';

const maxHistory = 10;

/** Ended rollouts with another one added, newest first. A rollout that was complete and continued is listed once. */
export function withHistory(history: readonly RolloutHistory[], ended: RolloutHistory): readonly RolloutHistory[] {
  return [ended, ...history.filter(({ id }) => id !== ended.id)].slice(0, maxHistory);
}

/** Input for the beginning of a rollout. */
export interface Beginning {
  readonly service: string;
  readonly target: string;
  readonly wallMs: number;
  /** Counts of the rollout that ends now. */
  readonly counts: Pick<Counts, 'updated' | 'failed'> | undefined;
  /** Ended rollouts that status shows and the ledger does not know, newest first. */
  readonly shown?: readonly RolloutHistory[];
}

/**
 * Header of the rollout that begins now.
 * @param before the ledger's header, if it has one for this service
 * @param status status that was shown last; after a lost or old ledger, rollout numbers continue from it, so that no id is used
 * twice
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
    // An attempt in flight may have been made for a selection that an edit has replaced (U12).
    ...(before?.selection !== undefined && { selection: before.selection }),
    tally: { ...emptyTally, number: 0 },
    history: shown.reduceRight(withHistory, before ? historyAfter(before, counts, wallMs) : []),
  });
}

/**
 * A target whose last rollout was stopped starts as stopped, until a person retries. A target whose last rollout did not complete is
 * unproven: every stage soaks again (R6).
 */
function takeUp(header: LedgerHeader): LedgerHeader {
  const last = header.history.find(({ targetVersion }) => targetVersion === header.target);
  const stop = last && stopOf(last);
  return {
    ...header,
    ...(last && last.outcome !== 'Completed' && { unproven: true }),
    // The collectors to roll back, and the inconclusive stage, belonged to the former rollout.
    ...(stop && { stop: { ...stop, kind: stop.kind === 'abort' ? 'abort' : 'failures' } }),
  };
}

/** The stop of an ended rollout, worded for the rollout that takes it over. Status alone has fewer details. */
function stopOf({ id, outcome, startedAtMs, endedAtMs, stop }: RolloutHistory): RolloutStop | undefined {
  const kind = stop?.kind ?? stopKindOf(outcome);
  if (kind === undefined) return undefined;
  // A stop that was itself taken over already names its rollout.
  if (stop && stop.atMs < startedAtMs) return stop;
  const told = `Rollout ${id}, which went to this version, was ${stopWords[kind]}`;
  if (!stop) return { kind, message: told, atMs: endedAtMs };
  const { exceeded: _, ...former } = stop;
  return { ...former, message: `${told}: ${stop.message}` };
}

const stopWords = { failures: 'stopped', inconclusive: 'stopped', rollback: 'rolled back', abort: 'aborted' } as const;

function stopKindOf(outcome: RolloutHistory['outcome']): RolloutStop['kind'] | undefined {
  switch (outcome) {
    case 'Completed':
    case 'Superseded':
      return undefined;
    case 'Stopped':
      return 'failures';
    case 'RolledBack':
      return 'rollback';
    case 'Aborted':
      return 'abort';
  }
}

/** Knowledge of a decision about the rollout of its header. */
export interface Progress {
  readonly attempts: number;
  readonly selection: string;
  readonly counts: Counts;
  /** Whether all that counts is at the target, tolerated failures aside. */
  readonly isUpdated: boolean;
  /** Whether the stages have ended, no failure is open, and nothing is left to upgrade in a rollout without stages. */
  readonly isOver: boolean;
  readonly wallMs: number;
}

/** The header after a decision: with the new attempt numbers, and with the completion of the rollout. */
export function headerAfter(header: LedgerHeader, progress: Progress): LedgerHeader {
  const { attempts, selection, counts, isUpdated, isOver, wallMs } = progress;
  const isSame = attempts === header.attempts && selection === header.selection;
  const next = isSame ? header : { ...header, attempts, selection };
  // Late joiners that come when all others are at the target have a tally of their own.
  const isAtTarget = isUpdated && counts.failed === 0;
  if (header.completedAtMs !== undefined) return isAtTarget && header.tally.finished > 0 ? withNewTally(next) : next;
  // Without any collector at the target (all offline or owned by others), the rollout is not complete.
  if (!isOver || header.stop || counts.updated === 0) return next;
  const ended = endOf(header, 'Completed', counts, wallMs);
  const history = withHistory(header.history, ended);
  return { ...withNewTally(next), completedAtMs: wallMs, history };
}

/** The Event that reports the beginning of a rollout. */
export function rolloutStarted({ rolloutId, target }: LedgerHeader) {
  const message = `Rollout ${rolloutId} begins: bringing the selected collectors to ${target}.`;
  return { type: 'Normal', reason: 'RolloutStarted', message } as const;
}

/** The Events for stages that began or ended with a decision. */
export function stageEvents({ stages: before = [], rolloutId }: LedgerHeader, { stages: after = [] }: LedgerHeader) {
  return after.flatMap(({ name, endedAtMs }) => {
    const known = before.find((stage) => stage.name === name);
    const begins = {
      type: 'Normal',
      reason: 'StageStarted',
      message: `Stage ${name} of rollout ${rolloutId} begins.`,
    } as const;
    const ends = {
      type: 'Normal',
      reason: 'StageCompleted',
      message: `Stage ${name} of rollout ${rolloutId} has ended.`,
    } as const;
    const isOver = endedAtMs !== undefined && known?.endedAtMs === undefined;
    return [...(known ? [] : [begins]), ...(isOver ? [ends] : [])];
  });
}

/** Highest number of a rollout that status shows; 0 when it shows none. */
export function newestNumber(status: CollectorVersionPolicyStatus | undefined): number {
  return Math.max(...[status?.rollout, ...(status?.history ?? [])].map((one) => rolloutNumber(one?.id)));
}

/** Number at the beginning of a rollout's id; 0 without one. */
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

/** Outcome of a rollout that ended before it was complete. */
function outcomeOf({ stop }: LedgerHeader): RolloutHistory['outcome'] {
  switch (stop?.kind) {
    case undefined:
      return 'Superseded';
    case 'failures':
    case 'inconclusive':
      return 'Stopped';
    case 'rollback':
      return 'RolledBack';
    case 'abort':
      return 'Aborted';
  }
}

function historyAfter(before: LedgerHeader, counts: Beginning['counts'], wallMs: number): readonly RolloutHistory[] {
  const { stop } = before;
  if (before.completedAtMs !== undefined) {
    if (!stop) return before.history;
    return before.history.map((one) => (one.id === before.rolloutId ? { ...one, stop } : one));
  }
  const { updated = 0, failed = 0 } = counts ?? {};
  const ended = endOf(before, outcomeOf(before), { updated, failed }, wallMs);
  return withHistory(before.history, { ...ended, ...(stop && { stop }) });
}
