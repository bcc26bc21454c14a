/**
 * Adds data from a policy's status to a ledger that was lost or restored from a backup. Without this data, a running
 * upgrade could be requested again (U1).
 */
import { annotations } from '../../api/annotations.ts';
import type {
  CollectorVersionPolicyStatus,
  StoppedRollout,
  TaskSample,
} from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import {
  type Entry,
  type EntryChange,
  emptyTally,
  type Ledger,
  type LedgerHeader,
  type RolloutHistory,
  type RolloutStop,
} from './ledger.ts';
import { newestNumber, rolloutNumber } from './rollout-header.ts';

export function adoptFromStatus(
  status: CollectorVersionPolicyStatus | undefined,
  ledger: Ledger,
  nowMs: number,
): readonly EntryChange[] {
  const changes: EntryChange[] = [];
  for (const task of status?.tasks ?? []) {
    const known = ledger.entry(task.collectorId);
    if (task.endTime !== undefined || (known && !isNewer(task, known))) continue;
    changes.push({ collectorId: task.collectorId, entry: entryOf(task, known, nowMs) });
  }
  return changes;
}

/** Reports whether the status shows an upgrade task that is newer than the collector's last attempt in the ledger. */
function isNewer(task: TaskSample, { open, ending }: Entry): boolean {
  return !open && ending !== undefined && task.id !== ending.taskId && Date.parse(task.startTime) > ending.endedAtMs;
}

function entryOf(task: TaskSample, known: Entry | undefined, nowMs: number): Entry {
  // An upgrade that logfleet did not start counts as running, but not as an attempt (U10).
  const adopted = task.state === 'Adopted';
  return {
    collectorId: task.collectorId,
    before: known?.before ?? task.from,
    used: (known?.used ?? 0) + (adopted ? 0 : 1),
    drifts: known?.drifts ?? 0,
    isRollback: known?.isRollback ?? false,
    open: {
      number: 0,
      toVersion: task.to,
      state: adopted ? 'adopted' : task.id === undefined ? 'unknown' : 'accepted',
      taskId: task.id,
      ours: !adopted,
      probe: false,
      startedAtMs: Date.parse(task.startTime),
      sinceMs: nowMs,
      needsGrace: true,
    },
    ending: known?.ending,
  };
}

/**
 * Adds data to the ledger header that only the policy's status contains (U1).
 * - If the status shows a stop, the rollout is stopped. The current annotations count as already applied, so that a
 *   retry requested before the stop does not resume the rollout.
 * - If the status shows a started stage or a soak that the ledger does not contain, every stage must soak again.
 * @param written header that this process stored last, if any
 */
export function adoptRolloutState(
  { status, metadata }: CollectorVersionPolicy,
  header: LedgerHeader,
  written?: LedgerHeader,
): LedgerHeader {
  if (status?.rollout?.id !== header.rolloutId) return header;
  const adopted = withShownState(status, header);
  if (adopted.stop === header.stop) return adopted;
  if (written?.rolloutId === header.rolloutId) return { ...adopted, handled: { ...written.handled } };
  const { [annotations.retry]: retry, [annotations.abort]: abort } = metadata.annotations;
  const handled = { ...header.handled, ...(retry !== undefined && { retry }), ...(abort !== undefined && { abort }) };
  return { ...adopted, handled };
}

/**
 * Returns the header of a rollout that begins after the ledger was lost. If the status shows that the rollout was
 * stopped, the rollout remains stopped.
 */
export function adoptLostRolloutState(
  { status }: CollectorVersionPolicy,
  before: LedgerHeader | undefined,
  header: LedgerHeader,
): LedgerHeader {
  const isLost = rolloutNumber(status?.rollout?.id) > (before?.rolloutNumber ?? 0);
  return status && isLost && status.targetVersion === header.target ? withShownState(status, header) : header;
}

/**
 * Returns the ledger header with the stop that the status shows, if any. If the status shows a stage or a soak that is
 * not in the ledger, every stage must soak again.
 */
function withShownState(status: CollectorVersionPolicyStatus, header: LedgerHeader): LedgerHeader {
  const { rollout } = status;
  const stop = shownStop(status, header);
  const isLost = !header.unproven && isStageLost(status, header);
  if (!stop && !isLost) return header;
  const unproven = { unproven: true, ...(rollout && { unprovenSinceMs: Date.parse(rollout.startTime) }) } as const;
  return { ...header, ...(isLost && unproven), ...(stop && { stop }) };
}

/** Returns ended rollouts that are in the status but not in the ledger, newest first. */
export function shownHistory(
  status: CollectorVersionPolicyStatus | undefined,
  before: LedgerHeader | undefined,
): readonly RolloutHistory[] {
  const known = before?.rolloutNumber ?? 0;
  // If the history in the status lists the ledger's current rollout as stopped, rolled back or aborted, the ledger
  // comes from an older backup.
  const isMissing = ({ id, outcome }: ShownRollout) =>
    rolloutNumber(id) > known || (id === before?.rolloutId && outcome !== 'Completed' && outcome !== 'Superseded');
  return (status?.history ?? []).filter(isMissing).map(endedRollout);
}

function endedRollout({ startTime, completionTime, actions: _, ...shown }: ShownRollout): RolloutHistory {
  return { ...shown, startedAtMs: Date.parse(startTime), endedAtMs: Date.parse(completionTime) };
}

type ShownRollout = NonNullable<CollectorVersionPolicyStatus['history']>[number];

/**
 * Returns the rollout's stop if the status shows it and the ledger does not. Returns undefined if there is no such
 * stop, or if a user has ended the stop since then.
 */
function shownStop(
  { rollout }: CollectorVersionPolicyStatus,
  { stop, handled }: LedgerHeader,
): RolloutStop | undefined {
  const { stopped } = rollout ?? {};
  if (!stopped || stop) return undefined;
  const { reason, message, time, stage } = stopped;
  const atMs = Date.parse(time);
  // A user has ended the stop at `liftedAtMs` and all earlier stops.
  if (handled?.liftedAtMs !== undefined && atMs <= handled.liftedAtMs) return undefined;
  return { kind: stopKinds[reason], message, atMs, ...(stage === undefined ? {} : { stage }) };
}

/** Reports whether the status shows a running stage, or a soak, that is missing from the ledger. */
function isStageLost({ stages = [] }: CollectorVersionPolicyStatus, { stages: known = [] }: LedgerHeader): boolean {
  return stages.some(({ name, state, startTime, soakedUntil }) => {
    if (startTime === undefined || state === 'Completed') return false;
    const record = known.find((stage) => stage.name === name);
    return !record || (soakedUntil !== undefined && record.updatedAtMs === undefined);
  });
}

// The restored ledger may lack the inconclusive stage, so the stop of that stage is restored as a stop for failures.
// Only a retry ends a stop for failures, whereas an old approval of the stage could end an inconclusive stop.
const stopKinds = {
  RolloutStopped: 'failures',
  StageInconclusive: 'failures',
  RollingBack: 'rollback',
  Aborted: 'abort',
} as const satisfies Record<StoppedRollout['reason'], RolloutStop['kind']>;

/** Placeholder for an unknown selector digest. No selector has this digest. */
const unknownSelection = '';

/**
 * Builds a ledger header from a policy's status if `status.noLedgerFor` shows that no ledger was needed. Otherwise
 * returns undefined.
 */
export function headerFromStatus(policy: CollectorVersionPolicy, wallMs: number): LedgerHeader | undefined {
  const { metadata, status } = policy;
  const { noLedgerFor: service, targetVersion: target } = status ?? {};
  if (!status || service === undefined || target === undefined) return undefined;
  const history = (status.history ?? []).map(endedRollout);
  const [newest] = history;
  const { rollout } = status;
  const isNewest = rollout ? newest?.id === rollout.id : newest?.targetVersion === target;
  const own = isNewest && newest?.outcome === 'Completed' ? newest : undefined;
  const rolloutId = rollout?.id ?? own?.id ?? `${newestNumber(status) + 1}-${target}`;
  const isSameSpec = status.observedGeneration === metadata.generation;
  return {
    service,
    rolloutId,
    rolloutNumber: rolloutNumber(rolloutId),
    target,
    startedAtMs: rollout ? Date.parse(rollout.startTime) : (own?.startedAtMs ?? wallMs),
    completedAtMs: own?.endedAtMs,
    attempts: 0,
    tally: { ...emptyTally, number: 0 },
    // If the spec was edited after this status was written, newly selected collectors belong to the completed rollout,
    // and are not late joiners.
    ...(!isSameSpec && { selection: unknownSelection }),
    history,
  };
}
