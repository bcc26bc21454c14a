/** Rollouts as the ledger's header counts them: one for each target that a policy has had, in order. */
import type { CollectorVersionPolicyStatus } from '../api/generated/collector-version-policy.ts';
import type { Health } from './health.ts';
import type { LedgerHeader, RolloutHistory } from './ledger.ts';
import type { Counts } from './standing-counts.ts';

const maxHistory = 10;

/** The ended rollouts with another one, newest first. One that was complete before and went on is there once. */
export function withHistory(history: readonly RolloutHistory[], ended: RolloutHistory): readonly RolloutHistory[] {
  return [ended, ...history.filter(({ id }) => id !== ended.id)].slice(0, maxHistory);
}

/** What a rollout begins with. */
export interface Beginning {
  readonly service: string;
  readonly target: string;
  readonly wallMs: number;
  /** Of the rollout that ends with it. */
  readonly counts: Pick<Counts, 'updated' | 'failed'> | undefined;
  /** How many had failed or died in that, whom nobody had forgiven. */
  readonly broken?: number;
}

/**
 * The header of the rollout that begins now.
 * @param before the ledger's header, if it has one for this service
 * @param status what people saw last: where the ledger was lost, or is of before, rollouts are counted on from it, so that no id is
 *   used twice
 */
export function nextRollout(
  before: LedgerHeader | undefined,
  status: CollectorVersionPolicyStatus | undefined,
  { service, target, wallMs, counts, broken = 0 }: Beginning,
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
    history: before ? historyAfter(before, counts, broken, wallMs) : [],
  });
}

/**
 * What the last rollout towards the same version leaves to the one that begins, where it was not complete (R6): its stop, or one for
 * what had failed in it, and that nobody was watched to the end. A target that goes and comes back has proved nothing meanwhile.
 */
function takeUp(header: LedgerHeader): LedgerHeader {
  const last = header.history.find(({ targetVersion }) => targetVersion === header.target);
  if (!last || last.outcome === 'Completed') return header;
  const { stop, broken = 0 } = last;
  const again = { ...header, again: true } as const;
  // Whom it was to take back is on no record any more.
  if (stop) return { ...again, stop: { ...stop, kind: stop.kind === 'rollback' ? 'failures' : stop.kind } };
  if (broken === 0) return again;
  const message = `${broken} collector${broken === 1 ? '' : 's'} failed or died the last time that this version was rolled out (${last.id})`;
  return { ...again, stop: { kind: 'failures', message, atMs: header.startedAtMs } };
}

/** What a decision knows of the rollout that its header is about. */
export interface Progress {
  readonly attempts: number;
  readonly selection: string;
  readonly health: Health;
  readonly counts: Counts;
  readonly wallMs: number;
}

/** The header after a decision: attempts numbered on, and the end of the rollout once everything that counts is at the target. */
export function headerAfter(header: LedgerHeader, progress: Progress): LedgerHeader {
  const { attempts, selection, health, counts, wallMs } = progress;
  const completes = health.ready === 'True' && header.completedAtMs === undefined;
  if (!completes && attempts === header.attempts && selection === header.selection) return header;
  // Whom another selection brings in it goes on with, and is judged by.
  const goesOn = header.selection !== undefined && selection !== header.selection && health.ready !== 'True';
  const next = { ...header, attempts, selection, ...(goesOn && { completedAtMs: undefined }) };
  if (!completes) return next;
  const ended = endOf(header, 'Completed', counts, wallMs);
  return { ...next, completedAtMs: wallMs, history: withHistory(header.history, ended) };
}

/** The event that tells people of it. */
export function rolloutStarted({ rolloutId, target }: LedgerHeader) {
  const message = `Rollout ${rolloutId} begins: bringing the selected collectors to ${target}.`;
  return { type: 'Normal', reason: 'RolloutStarted', message } as const;
}

/** Of the stages that began or ended with a decision. */
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

function newestNumber(status: CollectorVersionPolicyStatus | undefined): number {
  return Math.max(...[status?.rollout, ...(status?.history ?? [])].map((one) => rolloutNumber(one?.id)));
}

/** The number that a rollout's id begins with; 0 where it has none. */
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

/** How a rollout ended before everything was at its target. */
function outcomeOf({ stop }: LedgerHeader): RolloutHistory['outcome'] {
  switch (stop?.kind) {
    case undefined:
      return 'Superseded';
    case 'failures':
      return 'Stopped';
    case 'rollback':
      return 'RolledBack';
    case 'abort':
      return 'Aborted';
  }
}

function historyAfter(
  before: LedgerHeader,
  counts: Beginning['counts'],
  broken: number,
  wallMs: number,
): readonly RolloutHistory[] {
  if (before.completedAtMs !== undefined) return before.history;
  const { stop } = before;
  const ended = endOf(before, outcomeOf(before), counts ?? { updated: 0, failed: 0 }, wallMs);
  return withHistory(before.history, { ...ended, ...(stop && { stop }), ...(broken > 0 && { broken }) });
}
