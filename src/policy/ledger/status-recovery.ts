/**
 * Adds facts from a policy's status to its ledger after the ledger was read. Where status and ledger contradict each other, the
 * more cautious one applies (U1).
 *
 * An upgrade task counts as running if status shows it as running and the ledger contains no task of the collector or only an
 * older one. So a ledger that was restored from a backup starts no upgrade twice.
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

/** Whether a running task in status began after the last attempt of its collector in the ledger. */
function isNewer(task: TaskSample, { open, ending }: Entry): boolean {
  return !open && ending !== undefined && task.id !== ending.taskId && Date.parse(task.startTime) > ending.endedAtMs;
}

function entryOf(task: TaskSample, known: Entry | undefined, nowMs: number): Entry {
  // Status shows an upgrade that logfleet did not start. It is in flight, but is never counted as an attempt of this policy
  // (U10).
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
 * Adds facts about the rollout to the header that status shows and the ledger does not contain. A stopped rollout stays stopped
 * when its ledger is restored (U1). Present annotations count as already applied. The rollout becomes unproven if status shows a
 * running stage that the ledger does not contain.
 * @param written header that this process stored last, if any; it records the applied annotations
 */
export function adoptCourse(
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
 * Returns the header of a rollout that begins after the ledger was lost or restored from an older backup. Status shows a later
 * rollout towards the same target. The new rollout has a new id, so no id is used twice. It is unproven, and it is stopped if
 * the lost rollout was stopped.
 */
export function adoptLostCourse(
  { status }: CollectorVersionPolicy,
  before: LedgerHeader | undefined,
  header: LedgerHeader,
): LedgerHeader {
  const isLost = rolloutNumber(status?.rollout?.id) > (before?.rolloutNumber ?? 0);
  return status && isLost && status.targetVersion === header.target ? withShownState(status, header) : header;
}

/**
 * Returns the header with the stop that status shows, and marked as unproven if status shows a running stage or soak that the
 * ledger does not contain.
 */
function withShownState(status: CollectorVersionPolicyStatus, header: LedgerHeader): LedgerHeader {
  const { rollout } = status;
  const stop = shownStop(status, header);
  const isLost = !header.unproven && isStageLost(status, header);
  if (!stop && !isLost) return header;
  const unproven = { unproven: true, ...(rollout && { unprovenSinceMs: Date.parse(rollout.startTime) }) } as const;
  return { ...header, ...(isLost && unproven), ...(stop && { stop }) };
}

/**
 * Ended rollouts that status shows and the ledger does not contain, newest first. The ledger lacks them when it was lost or
 * restored from an older backup.
 */
export function shownHistory(
  status: CollectorVersionPolicyStatus | undefined,
  before: LedgerHeader | undefined,
): readonly RolloutHistory[] {
  const known = before?.rolloutNumber ?? 0;
  // If status shows another outcome for a rollout than the ledger, the ledger was restored and lacks the end of this rollout. The
  // rollout is then added like one that is missing.
  const isNews = ({ id, outcome }: ShownRollout) =>
    rolloutNumber(id) > known || (id === before?.rolloutId && outcome !== 'Completed' && outcome !== 'Superseded');
  return (status?.history ?? []).filter(isNews).map(endedRollout);
}

function endedRollout({ startTime, completionTime, actions: _, ...shown }: ShownRollout): RolloutHistory {
  return { ...shown, startedAtMs: Date.parse(startTime), endedAtMs: Date.parse(completionTime) };
}

type ShownRollout = NonNullable<CollectorVersionPolicyStatus['history']>[number];

/** Stop that status shows and the ledger does not contain; undefined when there is none, or a person has ended it. */
function shownStop(
  { rollout }: CollectorVersionPolicyStatus,
  { stop, handled }: LedgerHeader,
): RolloutStop | undefined {
  const { stopped } = rollout ?? {};
  if (!stopped || stop) return undefined;
  const { reason, message, time, stage } = stopped;
  const atMs = Date.parse(time);
  // A person has ended this stop, but status has not been written since. Times in status are whole seconds, so an equal time
  // counts as the same stop.
  if (handled?.liftedAtMs !== undefined && atMs <= handled.liftedAtMs) return undefined;
  return { kind: stopKinds[reason], message, atMs, ...(stage === undefined ? {} : { stage }) };
}

/** Whether status shows a running stage or soak that the ledger does not contain. */
function isStageLost({ stages = [] }: CollectorVersionPolicyStatus, { stages: known = [] }: LedgerHeader): boolean {
  return stages.some(({ name, state, startTime, soakedUntil }) => {
    if (startTime === undefined || state === 'Completed') return false;
    const record = known.find((stage) => stage.name === name);
    return !record || (soakedUntil !== undefined && record.updatedAtMs === undefined);
  });
}

// Kinds of stops that are restored from status. A restored ledger does not contain the inconclusive stage, so an inconclusive
// stop becomes an ordinary stop, which only a person's retry ends.
const stopKinds = {
  RolloutStopped: 'failures',
  StageInconclusive: 'failures',
  RollingBack: 'rollback',
  Aborted: 'abort',
} as const satisfies Record<StoppedRollout['reason'], RolloutStop['kind']>;

/** Placeholder for an unknown selection. No real selection has this name. */
const unknownSelection = '';

/**
 * Builds the ledger header from the status of a policy that has not needed a stored ledger so far. Undefined if status does not
 * say that no ledger was needed.
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
    // A changed spec may select other collectors. The placeholder marks the selector as changed, so the new collectors continue
    // the completed rollout and are not late joiners.
    ...(!isSameSpec && { selection: unknownSelection }),
    history,
  };
}
