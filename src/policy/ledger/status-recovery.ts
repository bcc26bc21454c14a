/**
 * Merges the status of a policy into its ledger. Where the two disagree, the stricter one applies (U1).
 * A task counts as running when status shows it as running and the ledger knows none or only an older one. So a ledger that is
 * restored from a backup starts no upgrade twice.
 */
import { annotations } from '../../api/annotations.ts';
import type {
  CollectorVersionPolicyStatus,
  StoppedRollout,
  TaskSample,
} from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import type { Entry, EntryChange, Ledger, LedgerHeader, RolloutHistory, RolloutStop } from './ledger.ts';
import { rolloutNumber } from './rollout-header.ts';

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

/** Whether a running task of status began after the last attempt of its collector that the ledger knows. */
function isNewer(task: TaskSample, { open, ending }: Entry): boolean {
  return !open && ending !== undefined && task.id !== ending.taskId && Date.parse(task.startTime) > ending.endedAtMs;
}

function entryOf(task: TaskSample, known: Entry | undefined, nowMs: number): Entry {
  // An upgrade that logfleet did not start counts as in flight, never as an attempt (U10).
  const adopted = task.state === 'Adopted';
  return {
    collectorId: task.collectorId,
    before: known?.before ?? task.from,
    used: (known?.used ?? 0) + (adopted ? 0 : 1),
    drifts: known?.drifts ?? 0,
    back: known?.back ?? false,
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
 * Header with the state of the rollout that status shows and the ledger does not know.
 * A rollout that was stopped stays stopped when its ledger is restored (U1). Annotations that are present by then count as applied
 * and are not applied again. The rollout becomes unproven when status shows a stage under way that the ledger does not know.
 * @param written the header that this process wrote last, if any; it records the applied annotations
 */
export function adoptCourse(
  { status, metadata }: CollectorVersionPolicy,
  header: LedgerHeader,
  written?: LedgerHeader,
): LedgerHeader {
  if (status?.rollout?.id !== header.rolloutId) return header;
  const stages = adoptStages(status, header);
  const stop = adoptStop(status, header);
  if (!stop) return stages;
  if (written?.rolloutId === header.rolloutId) return { ...stages, handled: { ...written.handled }, stop };
  const { [annotations.retry]: retry, [annotations.abort]: abort } = metadata.annotations;
  const handled = { ...header.handled, ...(retry !== undefined && { retry }), ...(abort !== undefined && { abort }) };
  return { ...stages, handled, stop };
}

/**
 * Header of a rollout that begins after the ledger was lost or restored from an older backup. Status shows a later rollout towards
 * the same target than the ledger knows.
 * The new rollout has another id, so no id is used twice. It is unproven, and stopped if the lost rollout was stopped.
 */
export function adoptLostCourse(
  { status }: CollectorVersionPolicy,
  before: LedgerHeader | undefined,
  header: LedgerHeader,
): LedgerHeader {
  const isLost = rolloutNumber(status?.rollout?.id) > (before?.rolloutNumber ?? 0);
  if (!status || !isLost || status.targetVersion !== header.target) return header;
  const stages = adoptStages(status, header);
  const stop = adoptStop(status, header);
  return stop ? { ...stages, stop } : stages;
}

/** Ended rollouts that status shows and the ledger does not know because it was lost or is older, newest first. */
export function shownHistory(
  status: CollectorVersionPolicyStatus | undefined,
  before: LedgerHeader | undefined,
): readonly RolloutHistory[] {
  const known = before?.rolloutNumber ?? 0;
  // The ledger may not know that its own rollout was stopped.
  const isNews = ({ id, outcome }: ShownRollout) =>
    rolloutNumber(id) > known || (id === before?.rolloutId && outcome !== 'Completed' && outcome !== 'Superseded');
  return (status?.history ?? []).filter(isNews).map(({ startTime, completionTime, actions: _, ...shown }) => ({
    ...shown,
    startedAtMs: Date.parse(startTime),
    endedAtMs: Date.parse(completionTime),
  }));
}

type ShownRollout = NonNullable<CollectorVersionPolicyStatus['history']>[number];

function adoptStop(
  { rollout }: CollectorVersionPolicyStatus,
  { stop, handled }: LedgerHeader,
): RolloutStop | undefined {
  const { stopped } = rollout ?? {};
  if (!stopped || stop) return undefined;
  const { reason, message, time, stage } = stopped;
  const atMs = Date.parse(time);
  // A person lifted this stop, and status has not been written since. Status has whole seconds.
  if (handled?.liftedAtMs !== undefined && atMs <= handled.liftedAtMs) return undefined;
  return { kind: stopKinds[reason], message, atMs, ...(stage === undefined ? {} : { stage }) };
}

/** Header marked as unproven when status shows a stage or a soak under way that the ledger does not know. */
function adoptStages({ stages = [] }: CollectorVersionPolicyStatus, header: LedgerHeader): LedgerHeader {
  const { stages: known = [] } = header;
  const isLost = stages.some(({ name, state, startTime, soakedUntil }) => {
    if (startTime === undefined || state === 'Completed') return false;
    const record = known.find((stage) => stage.name === name);
    return !record || (soakedUntil !== undefined && record.updatedAtMs === undefined);
  });
  return isLost && !header.unproven ? { ...header, unproven: true } : header;
}

// The ledger does not know the inconclusive stage, so only a retry ends such a stop.
const stopKinds = {
  RolloutStopped: 'failures',
  StageInconclusive: 'failures',
  RollingBack: 'rollback',
  Aborted: 'abort',
} as const satisfies Record<StoppedRollout['reason'], RolloutStop['kind']>;
