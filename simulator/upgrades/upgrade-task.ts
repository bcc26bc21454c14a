/**
 * Status of an upgrade task over time:
 *
 * 0 not started → 1 pending → 6 progressing → 2 succeeded or 3 failed.
 *
 * The caller reports success or failure. An unfinished task gets status 3 when it times out.
 */

import type { SimulatedTask } from '../collectors/collector.ts';
import type { Settings } from '../scenario/settings.ts';

/** Returns the status code of the task at `atMs`. The task must not have changed after `atMs`. */
export function statusAt(task: SimulatedTask, atMs: number): number {
  if (task.finished) return task.finished.status;
  if (atMs < task.pendingAtMs) return 0;
  const { running, silentSinceMs } = task.collector.now;
  // If the collector loses contact during its upgrade, the service still reports the upgrade as progressing.
  const canProgress = running || silentSinceMs > task.progressingAtMs;
  return atMs >= task.progressingAtMs && canProgress ? task.progressingStatus : 1;
}

/** Renders an upgrade task as JSON (section 4.8 of docs/service.md). */
export function renderTask(task: SimulatedTask, atMs: number, settings: Settings['task']): string {
  const requestTime = Math.floor(settings.requestTimeUnit === 's' ? task.requestedMs / 1000 : task.requestedMs);
  const { id, collector, toVersion } = task;
  const members = [`"id":${id}`, `"collectorId":${collector.id}`, `"toVersion":${JSON.stringify(toVersion)}`];
  if (!settings.omit.includes('requestTime')) members.push(`"${settings.requestTimeMember}":${requestTime}`);
  members.push(`"status":${statusAt(task, atMs)}`);
  if (!settings.omit.includes('message')) members.push(`"message":${JSON.stringify(task.finished?.message ?? '')}`);
  return `{"upgrade":{${members.join(',')}}}`;
}
