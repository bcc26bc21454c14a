/** Rollouts as the ledger's header counts them: one for each target that a policy has had, in order. */
import type { CollectorVersionPolicyStatus } from '../api/generated/collector-version-policy.ts';
import type { Health } from '../controller/health.ts';
import type { LedgerHeader, RolloutHistory, RolloutStop } from './ledger.ts';
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
  /** What status shows of rollouts that the ledger does not know, newest first. */
  readonly shown?: readonly RolloutHistory[];
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
  { service, target, wallMs, counts, broken = 0, shown = [] }: Beginning,
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
    history: shown.reduceRight(withHistory, before ? historyAfter(before, counts, broken, wallMs) : []),
  });
}

/**
 * What the last rollout towards the same version leaves to the one that begins, where it was not complete (R6): its stop, or one for
 * what had failed in it, and that nobody was watched to the end. A target that goes and comes back has proved nothing meanwhile.
 */
function takeUp(header: LedgerHeader): LedgerHeader {
  const last = header.history.find(({ targetVersion }) => targetVersion === header.target);
  if (!last) return header;
  const { broken = 0 } = last;
  const stop = stopOf(last);
  // What was stopped after its end was so because of who came late.
  if (last.outcome === 'Completed') return stop ? { ...header, stop } : header;
  const again = { ...header, again: true } as const;
  // Whom it was to take back is on no record any more.
  if (stop) return { ...again, stop: { ...stop, kind: stop.kind === 'rollback' ? 'failures' : stop.kind } };
  if (broken === 0) return again;
  const message = `${broken} collector${broken === 1 ? '' : 's'} failed or died the last time that this version was rolled out (${last.id})`;
  return { ...again, stop: { kind: 'failures', message, atMs: header.startedAtMs } };
}

/** When rollouts towards this version began that have not been complete since, as far as the history goes; wall ms. */
export function firstTriedMs({ target, startedAtMs, history }: LedgerHeader): number {
  const own = history.filter(({ targetVersion }) => targetVersion === target);
  const complete = own.findIndex(({ outcome }) => outcome === 'Completed');
  const unfinished = complete === -1 ? own : own.slice(0, complete);
  return Math.min(startedAtMs, ...unfinished.map((one) => one.startedAtMs));
}

/**
 * The header with attempts that failed after their rollout had ended: whoever comes back to its version is to know of them (R6).
 * @param towards their versions, one for each
 */
export function withFailuresOf(header: LedgerHeader, towards: readonly string[]): LedgerHeader {
  let { history } = header;
  for (const version of towards) {
    const index = history.findIndex(({ targetVersion }) => targetVersion === version);
    const last = history[index];
    if (last && last.outcome !== 'Completed')
      history = history.with(index, { ...last, broken: (last.broken ?? 0) + 1 });
  }
  return history === header.history ? header : { ...header, history };
}

/** What stopped a rollout that is over, told so that nobody looks for it in the one that begins. Status alone tells less of it. */
function stopOf({ id, outcome, startedAtMs, endedAtMs, stop }: RolloutHistory): RolloutStop | undefined {
  const kind = stop?.kind ?? stopKindOf(outcome);
  if (kind === undefined) return undefined;
  // What it had taken over itself says already whose it was.
  if (stop && stop.atMs < startedAtMs) return stop;
  const told = `Rollout ${id}, which went to this version, was ${stopWords[kind]}`;
  if (!stop) return { kind, message: told, atMs: endedAtMs };
  const { exceeded: _, ...former } = stop;
  return { ...former, message: `${told}: ${stop.message}` };
}

const stopWords = { failures: 'stopped', rollback: 'rolled back', abort: 'aborted' } as const;

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

/** What a decision knows of the rollout that its header is about. */
export interface Progress {
  readonly attempts: number;
  readonly selection: string;
  readonly health: Health;
  readonly counts: Counts;
  /** How many attempts of those have ended that came since it was complete last. */
  readonly lateFinished: number;
  readonly wallMs: number;
}

/** The header after a decision: attempts numbered on, and the end of the rollout once everything that counts is at the target. */
export function headerAfter(header: LedgerHeader, progress: Progress): LedgerHeader {
  const { attempts, selection, health, counts, lateFinished, wallMs } = progress;
  // Where nobody is at the target, as all are offline or others', nobody has gone through its stages.
  const completes = health.ready === 'True' && header.completedAtMs === undefined && counts.updated > 0;
  const { completions = 0 } = header;
  // Who comes now counts anew.
  if (!completes && health.ready === 'True' && lateFinished > 0)
    return { ...header, attempts, selection, completions: completions + 1 };
  if (!completes && attempts === header.attempts && selection === header.selection) return header;
  // Whom another selection brings in it goes on with, and is judged by.
  const goesOn = header.selection !== undefined && selection !== header.selection && health.ready !== 'True';
  const next = { ...header, attempts, selection, ...(goesOn && { completedAtMs: undefined }) };
  if (!completes) return next;
  const ended = endOf(header, 'Completed', counts, wallMs);
  return { ...next, completedAtMs: wallMs, completions: completions + 1, history: withHistory(header.history, ended) };
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
  const { stop } = before;
  if (before.completedAtMs !== undefined) {
    if (!stop) return before.history;
    return before.history.map((one) => (one.id === before.rolloutId ? { ...one, stop } : one));
  }
  const { updated = 0, failed = 0 } = counts ?? {};
  // Also who had attempts left: nobody tries them any more.
  const ended = endOf(before, outcomeOf(before), { updated, failed: Math.max(failed, broken) }, wallMs);
  return withHistory(before.history, { ...ended, ...(stop && { stop }), ...(broken > 0 && { broken }) });
}
