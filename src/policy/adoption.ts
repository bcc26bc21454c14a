/**
 * Where ledger and status disagree, the stricter wins (U1): what status shows as running and the ledger does not know is taken
 * for running, so that a ledger restored from a backup starts nothing a second time.
 */
import type { CollectorVersionPolicyStatus, TaskSample } from '../api/generated/collector-version-policy.ts';
import type { EntryChange, Ledger } from './ledger.ts';

export function adoptFromStatus(
  status: CollectorVersionPolicyStatus | undefined,
  ledger: Ledger,
  nowMs: number,
): readonly EntryChange[] {
  const changes: EntryChange[] = [];
  for (const task of status?.tasks ?? []) {
    if (task.endTime !== undefined || ledger.entry(task.collectorId)) continue;
    changes.push({ collectorId: task.collectorId, entry: entryOf(task, nowMs) });
  }
  return changes;
}

function entryOf(task: TaskSample, nowMs: number) {
  return {
    collectorId: task.collectorId,
    before: task.from,
    used: 1,
    drifts: 0,
    open: {
      number: 0,
      toVersion: task.to,
      state: task.id === undefined ? ('unknown' as const) : ('accepted' as const),
      taskId: task.id,
      ours: true,
      probe: false,
      startedAtMs: Date.parse(task.startTime),
      sinceMs: nowMs,
      needsGrace: true,
    },
    ending: undefined,
  };
}
