/**
 * Where ledger and status disagree, the stricter wins (U1): what status shows as running and the ledger does not know, or knows
 * an older attempt of alone, is taken for running and counts, so that a ledger restored from a backup starts nothing a second time.
 */
import { annotations } from '../api/annotations.ts';
import type {
  CollectorVersionPolicyStatus,
  StoppedRollout,
  TaskSample,
} from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import {
  type Entry,
  type EntryChange,
  type Ledger,
  type LedgerHeader,
  type RolloutHistory,
  type RolloutStop,
  unnamedStage,
} from './ledger.ts';
import { rolloutNumber } from './rollout.ts';

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

/** Whether a task that status shows as running began after all that the ledger tells of its collector. */
function isNewer(task: TaskSample, { open, ending }: Entry): boolean {
  return !open && ending !== undefined && task.id !== ending.taskId && Date.parse(task.startTime) > ending.endedAtMs;
}

function entryOf(task: TaskSample, known: Entry | undefined, nowMs: number): Entry {
  // What somebody else began counts as in flight, and never as an attempt (U10).
  const adopted = task.state === 'Adopted';
  return {
    collectorId: task.collectorId,
    before: known?.before ?? task.from,
    used: (known?.used ?? 0) + (adopted ? 0 : 1),
    drifts: known?.drifts ?? 0,
    failures: known?.failures ?? 0,
    // Status does not tell the stage that it was started in: it counts in the one that has it.
    stage: known ? known.stage : unnamedStage,
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
 * The header with what status shows of its rollout and the ledger does not know. What had been stopped does not go on because a ledger
 * was restored (U1): what annotations ask for by then has been heard before, and is not heard again. A stage that was under way soaks,
 * although its attempts are on no record.
 * @param written as this process has written it, if it has: that tells what has been heard by then
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
 * The header of a rollout that begins although status shows a later one towards the same target than the ledger knew: the ledger was
 * lost, or is of before. It is another rollout, so that no id is used twice, but it is stopped where that was, and soaks where that did.
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

/** The rollouts that status tells of as ended, and the ledger does not, since it was lost or is of before; newest first. */
export function shownHistory(
  status: CollectorVersionPolicyStatus | undefined,
  before: LedgerHeader | undefined,
): readonly RolloutHistory[] {
  const known = before?.rolloutNumber ?? 0;
  // Of its own rollout the ledger may not know that it was stopped.
  const isNews = ({ id, outcome }: ShownRollout) =>
    rolloutNumber(id) > known || (id === before?.rolloutId && outcome !== 'Completed' && outcome !== 'Superseded');
  return (status?.history ?? []).filter(isNews).map(({ startTime, completionTime, actions: _, ...shown }) => ({
    ...shown,
    startedAtMs: Date.parse(startTime),
    endedAtMs: Date.parse(completionTime),
    ...(shown.failed > 0 && { broken: shown.failed }),
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
  // A person has lifted it, and status has not been written since. It tells full seconds.
  if (handled?.liftedAtMs !== undefined && atMs <= handled.liftedAtMs) return undefined;
  return { kind: stopKinds[reason], message, atMs, ...(stage === undefined ? {} : { stage }) };
}

function adoptStages({ stages = [] }: CollectorVersionPolicyStatus, header: LedgerHeader): LedgerHeader {
  const { stages: known = [] } = header;
  const unknown = stages.filter(
    ({ name, state, startTime }) =>
      startTime !== undefined && state !== 'Completed' && known.every((stage) => stage.name !== name),
  );
  if (unknown.length === 0) return header;
  const adopted = unknown.map(
    ({ name, startTime = '' }) => ({ name, startedAtMs: Date.parse(startTime), adopted: true }) as const,
  );
  return { ...header, stages: [...known, ...adopted] };
}

const stopKinds = { RolloutStopped: 'failures', RollingBack: 'rollback', Aborted: 'abort' } as const satisfies Record<
  StoppedRollout['reason'],
  RolloutStop['kind']
>;
