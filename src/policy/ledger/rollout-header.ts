/** Updates the ledger's header when a rollout begins, continues or ends. Each new target version begins a rollout. */
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';
import { emptyTally, type LedgerHeader, type RolloutHistory, type RolloutStop, withNewTally } from './ledger.ts';

/** Numbers of updated and failed collectors. */
type EndCounts = Pick<RolloutHistory, 'updated' | 'failed'>;

const maxHistory = 10;

/** Adds an ended rollout to the history. Returns the history, newest rollout first, with each rollout only once. */
export function withHistory(history: readonly RolloutHistory[], ended: RolloutHistory): readonly RolloutHistory[] {
  return [ended, ...history.filter(({ id }) => id !== ended.id)].slice(0, maxHistory);
}

/**
 * Maximum length in characters of a service address in `status.noLedgerFor`. If the address is longer, a ledger is
 * stored instead.
 */
const maxServiceLength = 1024;

/**
 * Reports whether a ledger must be stored. A ledger is needed if the policy's status does not show everything in the
 * header (U1).
 */
export function needsLedger({ service, attempts, stages = [], actions, stop, unproven }: LedgerHeader): boolean {
  const isPlain = attempts === 0 && stages.length === 0 && !actions && !stop && !unproven;
  return !isPlain || service.length > maxServiceLength;
}

export interface Beginning {
  readonly service: string;
  readonly target: string;
  readonly wallMs: number;
  /** Counts at the end of the former rollout. */
  readonly counts: EndCounts | undefined;
  /** Ended rollouts that the policy's status lists but the ledger does not, newest first. */
  readonly shown?: readonly RolloutHistory[];
}

/**
 * Returns the ledger header of a rollout that begins now.
 * @param before header of the previous rollout, if there is a ledger for this service
 * @param status last written status of the policy. If the ledger was lost, the status shows which rollout ids are
 * already in use.
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
    // Keeps the digest of the earlier selector, because upgrades that were started with that selector may still be
    // running (U12).
    ...(before?.selection !== undefined && { selection: before.selection }),
    tally: { ...emptyTally, number: 0 },
    history: shown.reduceRight(withHistory, before ? historyAfter(before, counts, wallMs) : []),
  });
}

/**
 * Copies the results of earlier rollouts to the same version into the header of a new rollout. If the last of these
 * earlier rollouts was stopped, the new rollout starts in the stopped state (R6).
 */
function takeUp(header: LedgerHeader): LedgerHeader {
  const former = header.history.filter(({ targetVersion }) => targetVersion === header.target);
  const [last] = former;
  const oldest = last?.outcome === 'Completed' ? undefined : former.findLast(({ outcome }) => outcome !== 'Completed');
  const stop = last && stopOf(last);
  return {
    ...header,
    ...(oldest && { unproven: true, unprovenSinceMs: oldest.startedAtMs }),
    // The new rollout takes over an abort as an abort, and every other stop as a stop for failures. It does not
    // continue a rollback of the earlier rollout.
    ...(stop && { stop: { ...stop, kind: stop.kind === 'abort' ? 'abort' : 'failures' } }),
  };
}

/**
 * Returns the stop that a new rollout takes over from an earlier rollout to the same version. Returns undefined if the
 * earlier rollout was not stopped.
 */
function stopOf({ id, outcome, startedAtMs, endedAtMs, stop }: RolloutHistory): RolloutStop | undefined {
  const kind = stop?.kind ?? stopKinds[outcome];
  if (kind === undefined) return undefined;
  // If the earlier rollout had itself taken over this stop, the message already names the rollout that was stopped
  // first.
  if (stop && stop.atMs < startedAtMs) return stop;
  const reported = `The earlier rollout ${id} to the same target version was ${stopWords[kind]}`;
  if (!stop) return { kind, message: reported, atMs: endedAtMs };
  const { exceeded: _, ...former } = stop;
  return { ...former, message: `${reported}: ${stop.message}` };
}

const stopWords = { failures: 'stopped', inconclusive: 'stopped', rollback: 'rolled back', abort: 'aborted' } as const;
const outcomes = { failures: 'Stopped', inconclusive: 'Stopped', rollback: 'RolledBack', abort: 'Aborted' } as const;
const stopKinds: { readonly [O in RolloutHistory['outcome']]?: RolloutStop['kind'] } = {
  Stopped: 'failures',
  RolledBack: 'rollback',
  Aborted: 'abort',
};

export interface Progress {
  readonly attempts: number;
  readonly selection: string;
  readonly counts: EndCounts;
  /** True if all collectors run the target version, except failed collectors that `maxFailures` tolerates. */
  readonly isUpdated: boolean;
  /** True if the rollout can be marked as completed. */
  readonly isOver: boolean;
  readonly wallMs: number;
}

/** Returns the ledger header after a decision. Marks a finished rollout as completed. */
export function headerAfter(header: LedgerHeader, progress: Progress): LedgerHeader {
  const { attempts, selection, counts, isUpdated, isOver, wallMs } = progress;
  const isSame = attempts === header.attempts && selection === header.selection;
  const next = isSame ? header : { ...header, attempts, selection };
  // In a completed rollout, the number of failures returns to 0 whenever all collectors run the target version (R5).
  const isAtTarget = isUpdated && counts.failed === 0;
  if (header.completedAtMs !== undefined) return isAtTarget && header.tally.finished > 0 ? withNewTally(next) : next;
  // A rollout is not marked as completed while no collector runs the target version, for example while all collectors
  // are offline.
  if (!isOver || header.stop || counts.updated === 0) return next;
  const ended = endOf(header, 'Completed', counts, wallMs);
  const history = withHistory(header.history, ended);
  return { ...withNewTally(next), completedAtMs: wallMs, history };
}

/** Returns the highest rollout number in the policy's status, or 0 if there is none. */
export function newestNumber(status: CollectorVersionPolicyStatus | undefined): number {
  return Math.max(...[status?.rollout, ...(status?.history ?? [])].map((one) => rolloutNumber(one?.id)));
}

/** Returns the number at the beginning of a rollout id, such as 3 in `3-19.500-1`, or 0 if there is no id. */
export function rolloutNumber(id: string | undefined): number {
  const number = Number.parseInt(id ?? '', 10);
  return Number.isSafeInteger(number) ? Math.max(0, number) : 0;
}

function endOf(
  header: LedgerHeader,
  outcome: RolloutHistory['outcome'],
  { updated, failed }: EndCounts,
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
