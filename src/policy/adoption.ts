/**
 * Where ledger and status disagree, the stricter wins (U1): what status shows as running and the ledger does not know, or knows
 * an older attempt of alone, is taken for running and counts, so that a ledger restored from a backup starts nothing a second time.
 */
import { annotations } from '../api/annotations.ts';
import { findCondition, reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicyStatus, TaskSample } from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Entry, EntryChange, Ledger, LedgerHeader, RolloutStop } from './ledger.ts';

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
    stage: known?.stage,
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
 * The header with the stop that status shows and the ledger does not know: what had been stopped does not go on because a ledger was
 * restored (U1, R6). What annotations ask for by then has been heard before, and is not heard again.
 */
export function adoptStop({ status, metadata }: CollectorVersionPolicy, header: LedgerHeader): LedgerHeader {
  const ready = findCondition(status?.conditions, 'Ready');
  const kind = stopKinds[ready?.reason ?? ''];
  if (!ready || kind === undefined || header.stop || status?.rollout?.id !== header.rolloutId) return header;
  const stoppedAtMs = Date.parse(ready.lastTransitionTime);
  // A person went on after that, and status has not been written since.
  if (header.actions?.some(({ action, atMs }) => action === 'Retry' && atMs >= stoppedAtMs)) return header;
  const { [annotations.retry]: retry, [annotations.abort]: abort } = metadata.annotations;
  const handled = { ...(retry !== undefined && { retry }), ...(abort !== undefined && { abort }) };
  return { ...header, handled, stop: { kind, message: ready.message, atMs: stoppedAtMs } };
}

const stopKinds: Readonly<Record<string, RolloutStop['kind']>> = {
  [reasons.rolloutStopped]: 'failures',
  [reasons.aborted]: 'abort',
  [reasons.rollingBack]: 'rollback',
  [reasons.rolledBack]: 'rollback',
};
